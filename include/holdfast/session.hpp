/* session.hpp - options and callbacks of a client; see holdfast.hpp. */
#ifndef HOLDFAST_SESSION_HPP
#define HOLDFAST_SESSION_HPP

#include "handle.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

/* struct hf_options.  An empty string and an empty function are none. */
struct options {
    bool                      keeper = true;    /* false: HF_NO_KEEPER, call process() */
    bool                      init = false;     /* HF_INIT */
    bool                      guardian = false; /* HF_GUARDIAN */
    std::string               guardian_program;
    std::chrono::milliseconds ttl{ 0 };
    std::string               command;
    std::string               public_command;
    std::string               note;

    std::function<void(handle lock, lock_state state, std::error_code why)> on_state;
    std::function<void(handle lock, std::string_view reason)>               on_ask;
    std::function<void(handle lock, std::int64_t ahead)>                    on_place;
    std::function<void(link_state link, std::string_view why)>              on_link;

    /* These two run in the middle of the work with the store, and must not call the
     * library. */
    std::function<void(std::string_view text)>             on_trace;
    std::function<void(const void *key, std::size_t size)> on_session_key;
#if HOLDFAST_THROWS
    std::function<void(std::exception_ptr)> on_exception;
#endif
};

namespace detail
{

/* In C the text would end there. */
inline bool has_nul(const std::string &text) noexcept
{
    return text.find('\0') != std::string::npos;
}

inline constexpr const char *HAS_NUL = "a string has a null character in it";

/* C would cut a name at a NUL, and that would be another lock: a control character
 * instead makes the library refuse it. */
inline const char *c_name(const std::string &name) noexcept
{
    return has_nul(name) ? "\x01" : name.c_str();
}

inline const char *c_text(const std::string &text) noexcept
{
    return text.empty() ? nullptr : text.c_str();
}

/* A C client and its callbacks.  No exception may pass through C: all of these are
 * noexcept. */
struct session {
    hf_client *raw = nullptr;
    options    settings;

    explicit session(options from) : settings(std::move(from)) {}

    session(const session &) = delete;
    session &operator=(const session &) = delete;

    ~session() { hf_close(raw); }

    template <class Callback> void call(const Callback &callback) const noexcept
    {
#if HOLDFAST_THROWS
        if (settings.on_exception) {
            try {
                callback();
            } catch (...) {
                settings.on_exception(std::current_exception());
            }
            return;
        }
#endif
        callback();
    }

    static const session &of(void *data) noexcept
    {
        return *static_cast<const session *>(data);
    }

    static void state(hf_lock *lock, enum ::hf_state state, int why, void *data) noexcept
    {
        of(data).call([&] {
            of(data).settings.on_state(handle(lock), static_cast<lock_state>(state),
                                       make_error_code(why));
        });
    }

    static void ask(hf_lock *lock, const char *reason, void *data) noexcept
    {
        of(data).call(
            [&] { of(data).settings.on_ask(handle(lock), reason ? reason : ""); });
    }

    static void place(hf_lock *lock, std::int64_t ahead, void *data) noexcept
    {
        of(data).call([&] { of(data).settings.on_place(handle(lock), ahead); });
    }

    static void link(hf_client *, enum ::hf_link link, const char *why,
                     void *data) noexcept
    {
        of(data).call(
            [&] { of(data).settings.on_link(static_cast<link_state>(link), why); });
    }

    static void trace(const char *text, void *data) noexcept
    {
        of(data).call([&] { of(data).settings.on_trace(text); });
    }

    static void key(const void *key, std::size_t size, void *data) noexcept
    {
        of(data).call([&] { of(data).settings.on_session_key(key, size); });
    }

    /* nullptr: that of the environment, or the file of this user. */
    int open(const std::string *url, std::string &error)
    {
        char       text[512] = "";
        hf_options raw_options = HF_OPTIONS_INIT;

        const options &asked = settings;
        for (const std::string *given : { url, &asked.guardian_program, &asked.command,
                                          &asked.public_command, &asked.note })
            if (given != nullptr && has_nul(*given)) {
                error = HAS_NUL;
                return HF_EINVAL;
            }
        if (!settings.keeper)
            raw_options.flags |= HF_NO_KEEPER;
        if (settings.init)
            raw_options.flags |= HF_INIT;
        if (settings.guardian)
            raw_options.flags |= HF_GUARDIAN;
        constexpr std::chrono::milliseconds most(INT32_MAX);
        raw_options.ttl_ms =
            static_cast<int>((settings.ttl < most ? settings.ttl : most).count());
        raw_options.guardian = c_text(settings.guardian_program);
        raw_options.command = c_text(settings.command);
        raw_options.public_command = c_text(settings.public_command);
        raw_options.note = c_text(settings.note);
        raw_options.on_state = settings.on_state ? state : nullptr;
        raw_options.on_ask = settings.on_ask ? ask : nullptr;
        raw_options.on_place = settings.on_place ? place : nullptr;
        raw_options.on_link = settings.on_link ? link : nullptr;
        raw_options.on_trace = settings.on_trace ? trace : nullptr;
        raw_options.on_session_key = settings.on_session_key ? key : nullptr;
        raw_options.data = this;
        raw_options.error = text;
        raw_options.error_size = sizeof text;
        int r = hf_open(url != nullptr ? url->c_str() : nullptr, &raw_options, &raw);
        if (r < 0)
            error = text;
        return r;
    }
};

/* nullptr if it was moved from. */
inline hf_client *raw_of(const std::shared_ptr<session> &session) noexcept
{
    return session ? session->raw : nullptr;
}

#if HOLDFAST_THROWS
inline void throw_if(int code, const std::shared_ptr<session> &session)
{
    if (code < 0)
        throw_if(code, hf_errmsg(raw_of(session)));
}
#endif

} // namespace detail

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
