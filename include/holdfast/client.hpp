/* client.hpp - one session in one store; see holdfast.hpp. */
#ifndef HOLDFAST_CLIENT_HPP
#define HOLDFAST_CLIENT_HPP

#include "report.hpp"
#include "session.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

class client
{
public:
    client(const std::string &url, options settings, std::error_code &ec)
        : session_(std::make_shared<detail::session>(std::move(settings)))
    {
        open(&url, ec);
    }

    /* Without a URL: $HOLDFAST_URL, or your own file of locks. */
    client(std::nullptr_t, options settings, std::error_code &ec)
        : session_(std::make_shared<detail::session>(std::move(settings)))
    {
        open(nullptr, ec);
    }

    client(client &&) noexcept = default;
    client &operator=(client &&) noexcept = default;
    client(const client &) = delete;
    client &operator=(const client &) = delete;

    explicit operator bool() const noexcept { return session_ != nullptr; }

    /* The message of the last failure of this thread, or of the constructor. */
    std::string message() const { return session_ ? hf_errmsg(session_->raw) : error_; }

    /* The URL of the store, without passwords. */
    std::string where() const { return hf_where(native_handle()); }

    /* List the holders and waiters of `name`; without one: of every name. */
    report inspect(const std::string &name, limit time, std::error_code &ec) const
    {
        return inspect_line(detail::c_name(name), time, ec);
    }

    report inspect(limit time, std::error_code &ec) const
    {
        return inspect_line(nullptr, time, ec);
    }

    /* The same, as soon as the queue of `name` differs from `seen`. */
    report watch(const std::string &name, const report &seen, limit time,
                 std::error_code &ec) const
    {
        hf_report *raw = nullptr;

        ec = make_error_code(hf_watch(native_handle(), detail::c_name(name),
                                      seen.raw_.get(), time.ms(), &raw));
        return raw ? report(raw) : report();
    }

    /* Take the place `token` away from its owner; see hf_break(). */
    void break_place(const std::string &name, std::uint64_t token, limit time,
                     std::error_code &ec) const noexcept
    {
        ec = make_error_code(
            hf_break(native_handle(), detail::c_name(name), token, time.ms()));
    }

    /* Ask the holders to give it up.  Returns how many were asked. */
    int ask(const std::string &name, const std::string &reason, limit time,
            std::error_code &ec) const noexcept
    {
        int r = hf_ask(native_handle(), detail::c_name(name), detail::c_text(reason),
                       time.ms());

        ec = make_error_code(r);
        return r < 0 ? 0 : r;
    }

    /* Does `token` still hold `name`?  errc::lost: no. */
    void verify(const std::string &name, std::uint64_t token, limit time,
                std::error_code &ec) const noexcept
    {
        ec = make_error_code(
            hf_verify(native_handle(), detail::c_name(name), token, time.ms()));
    }

    /* Examine the store, and also the queue of `name` unless that is "". */
    std::vector<finding> doctor(const std::string &name, limit time,
                                std::error_code &ec) const
    {
        std::vector<finding> found;
        hf_findings         *raw = nullptr;

        ec = make_error_code(hf_doctor(native_handle(),
                                       name.empty() ? nullptr : detail::c_name(name),
                                       time.ms(), &raw));
        const std::unique_ptr<hf_findings, void (*)(hf_findings *)>
            owned(raw, hf_findings_free);
        for (std::size_t i = 0; raw && i < raw->count; i++) {
            const hf_finding &from = *raw->finding[i];
            found.push_back(finding{ from.level, from.about, from.text, from.advice });
        }
        return found;
    }

    /* The key of this session, with which another process can end it: end_session(). */
    std::vector<unsigned char> session_key(std::error_code &ec) const
    {
        std::vector<unsigned char> bytes;
        int                        r = hf_session_key(native_handle(), nullptr, 0);

        /* It may have grown between the two calls. */
        while (r > 0 && static_cast<std::size_t>(r) > bytes.size()) {
            bytes.resize(static_cast<std::size_t>(r));
            r = hf_session_key(native_handle(), bytes.data(), bytes.size());
        }
        ec = make_error_code(r);
        bytes.resize(r < 0 ? 0 : static_cast<std::size_t>(r));
        return bytes;
    }

#if HOLDFAST_THROWS
    explicit client(const std::string &url, options settings = options())
        : session_(std::make_shared<detail::session>(std::move(settings)))
    {
        open_or_throw(&url);
    }

    /* Without a URL: $HOLDFAST_URL, or your own file of locks. */
    explicit client(std::nullptr_t = nullptr, options settings = options())
        : session_(std::make_shared<detail::session>(std::move(settings)))
    {
        open_or_throw(nullptr);
    }

    report inspect(const std::string &name, limit time = once) const
    {
        return checked([&](std::error_code &ec) { return inspect(name, time, ec); });
    }

    report inspect(limit time = once) const
    {
        return checked([&](std::error_code &ec) { return inspect(time, ec); });
    }

    report watch(const std::string &name, const report &seen, limit time = forever) const
    {
        return checked([&](std::error_code &ec) { return watch(name, seen, time, ec); });
    }

    void break_place(const std::string &name, std::uint64_t token,
                     limit time = once) const
    {
        checked([&](std::error_code &ec) { break_place(name, token, time, ec); });
    }

    int ask(const std::string &name, const std::string &reason = std::string(),
            limit time = once) const
    {
        return checked([&](std::error_code &ec) { return ask(name, reason, time, ec); });
    }

    void verify(const std::string &name, std::uint64_t token, limit time = once) const
    {
        checked([&](std::error_code &ec) { verify(name, token, time, ec); });
    }

    std::vector<finding> doctor(const std::string &name = std::string(),
                                limit              time = once) const
    {
        return checked([&](std::error_code &ec) { return doctor(name, time, ec); });
    }

    std::vector<unsigned char> session_key() const
    {
        return checked([&](std::error_code &ec) { return session_key(ec); });
    }
#endif

    /* For a loop of your own (keeper = false): poll fd() for POLLIN, process() within
     * timeout_ms(), -1: no limit. */
    int fd() const noexcept { return hf_fd(native_handle()); }

    int timeout_ms() const noexcept { return hf_timeout_ms(native_handle()); }

    std::error_code process() const noexcept
    {
        return make_error_code(hf_process(native_handle()));
    }

    hf_client *native_handle() const noexcept { return detail::raw_of(session_); }

private:
    friend class basic_lock;
    friend class shared_mutex;
    friend class election;

    void open(const std::string *url, std::error_code &ec)
    {
        int r = session_->open(url, error_);

        ec = make_error_code(r);
        if (r < 0)
            session_.reset();
    }

    report inspect_line(const char *name, limit time, std::error_code &ec) const
    {
        hf_report *raw = nullptr;

        ec = make_error_code(hf_inspect(native_handle(), name, time.ms(), &raw));
        return raw ? report(raw) : report();
    }

#if HOLDFAST_THROWS
    void open_or_throw(const std::string *url)
    {
        int r = session_->open(url, error_);

        if (r < 0)
            detail::throw_if(r, error_);
    }

    template <class Call>
    auto checked(const Call &call) const
        -> decltype(call(std::declval<std::error_code &>()))
    {
        std::error_code ec;

        if constexpr (std::is_void_v<decltype(call(ec))>) {
            call(ec);
            detail::throw_if(ec.value(), session_);
        } else {
            auto result = call(ec);
            detail::throw_if(ec.value(), session_);
            return result;
        }
    }
#endif

    std::shared_ptr<detail::session> session_;
    std::string                      error_;
};

/* Load the libraries that this URL needs, now; see hf_load(). */
inline void load(const std::string &url, std::error_code &ec,
                 std::string *message = nullptr)
{
    char text[512] = "";
    int  r = HF_EINVAL;

    if (detail::has_nul(url))
        std::snprintf(text, sizeof text, "%s", detail::HAS_NUL);
    else
        r = hf_load(url.c_str(), text, sizeof text);
    ec = make_error_code(r);
    if (message != nullptr)
        *message = text;
}

/* End the session that a key belongs to; needs no client.  See hf_end_session(). */
inline void end_session(const std::vector<unsigned char> &key, limit time,
                        std::error_code &ec, std::string *message = nullptr)
{
    char text[512] = "";

    ec = make_error_code(
        hf_end_session(key.data(), key.size(), time.ms(), text, sizeof text));
    if (message != nullptr)
        *message = text;
}

#if HOLDFAST_THROWS
inline void load(const std::string &url = std::string())
{
    std::error_code ec;
    std::string     message;

    load(url, ec, &message);
    detail::throw_if(ec.value(), message);
}

inline void end_session(const std::vector<unsigned char> &key, limit time = once)
{
    std::error_code ec;
    std::string     message;

    end_session(key, time, ec, &message);
    detail::throw_if(ec.value(), message);
}
#endif

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
