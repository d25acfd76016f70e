/* kinds.hpp - mutex, claim, reader, writer, semaphore, and several as one; see
 * holdfast.hpp. */
#ifndef HOLDFAST_KINDS_HPP
#define HOLDFAST_KINDS_HPP

#include "lock.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

class shared_mutex;

namespace detail
{

/* A lock that is created by a function of holdfast.h with a client and a name. */
template <int (*Make)(hf_client *, const char *, hf_lock **)>
class named_lock : public basic_lock
{
public:
    named_lock() noexcept = default;

    named_lock(const client &client, const std::string &name, std::error_code &ec)
    {
        ec = make_error_code(make(session_of(client), name));
    }

#if HOLDFAST_THROWS
    named_lock(const client &client, const std::string &name)
    {
        detail::throw_if(make(session_of(client), name), session_of(client));
    }
#endif

private:
    friend class holdfast::shared_mutex;

    int make(const std::shared_ptr<session> &session, const std::string &name)
    {
        return construct(session, [&](hf_client *raw, hf_lock **ret) {
            return Make(raw, c_name(name), ret);
        });
    }
};

} // namespace detail

/* One holder at a time, first come first served. */
class mutex : public detail::named_lock<hf_mutex>
{
    using named_lock::named_lock;
};

/* One holder at a time, no queue. */
class claim : public detail::named_lock<hf_claim>
{
    using named_lock::named_lock;
};

/* Readers share, a writer is alone, first come first served.  A handle is one place in
 * the queue: threads that read at the same time need one each, or a shared_mutex. */
class reader : public detail::named_lock<hf_reader>
{
    using named_lock::named_lock;
};

class writer : public detail::named_lock<hf_writer>
{
public:
    using named_lock::named_lock;

    /* Become a reader, in place, until it is released. */
    bool downgrade(std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_downgrade(raw_));
        return !ec;
    }

#if HOLDFAST_THROWS
    void downgrade() { throw_if(hf_downgrade(raw_)); }
#endif
};

/* Any number of holders whose weights add up to `capacity` at most; slot() is the
 * number of this one. */
class semaphore : public basic_lock
{
public:
    semaphore() noexcept = default;

    semaphore(const client &client, const std::string &name, std::uint32_t capacity,
              std::uint32_t weight, std::error_code &ec)
    {
        ec = make_error_code(make(client, name, capacity, weight));
    }

#if HOLDFAST_THROWS
    semaphore(const client &client, const std::string &name, std::uint32_t capacity,
              std::uint32_t weight = 1)
    {
        detail::throw_if(make(client, name, capacity, weight), session_of(client));
    }
#endif

private:
    int make(const client &client, const std::string &name, std::uint32_t capacity,
             std::uint32_t weight)
    {
        return construct(session_of(client), [&](hf_client *raw, hf_lock **ret) {
            return hf_semaphore(raw, detail::c_name(name), capacity, weight, ret);
        });
    }
};

/* Several locks of one client as one: all are acquired, within one time limit and without
 * waiting in a circle, or none is.  The locks are moved into it:
 *
 *     holdfast::all_of both(holdfast::mutex(client, "a"), holdfast::reader(client, "b"));
 *     holdfast::all_of three(client, { "a", "b", "c" }); // mutexes
 */
class all_of : public basic_lock
{
public:
    all_of() noexcept = default;

    all_of(std::vector<basic_lock> parts, std::error_code &ec)
    {
        ec = make_error_code(make(parts));
    }

    all_of(const client &client, std::initializer_list<std::string> names,
           std::error_code &ec)
    {
        std::vector<basic_lock> parts;

        ec.clear();
        for (const std::string &name : names) {
            parts.push_back(mutex(client, name, ec));
            if (ec)
                return;
        }
        ec = make_error_code(make(parts));
    }

    /* The lock at this index, in the order of the arguments: its token, its slot. */
    handle part(std::size_t at) const noexcept { return handle(body_->parts[at]->raw); }

    std::size_t size() const noexcept { return body_ ? body_->parts.size() : 0; }

#if HOLDFAST_THROWS
    explicit all_of(std::vector<basic_lock> parts)
    {
        int r = make(parts);
        if (r < 0)
            detail::throw_if(r, is_hollow(parts) ? std::string() : parts[0].message());
    }

    template <class... Rest>
    all_of(basic_lock &&first, basic_lock &&second, Rest &&...rest)
        : all_of(gather(std::move(first), std::move(second), std::forward<Rest>(rest)...))
    {
    }

    all_of(const client &client, std::initializer_list<std::string> names)
        : all_of(mutexes(client, names))
    {
    }
#endif

private:
#if HOLDFAST_THROWS
    template <class... Rest> static std::vector<basic_lock> gather(Rest &&...rest)
    {
        std::vector<basic_lock> parts;

        parts.reserve(sizeof...(Rest));
        (parts.push_back(std::forward<Rest>(rest)), ...);
        return parts;
    }

    static std::vector<basic_lock> mutexes(const client                      &client,
                                           std::initializer_list<std::string> names)
    {
        std::vector<basic_lock> parts;

        for (const std::string &name : names)
            parts.push_back(mutex(client, name));
        return parts;
    }
#endif

    /* Nothing to lock, or a lock that was moved from: do not call hf_all_of(). */
    static bool is_hollow(const std::vector<basic_lock> &parts)
    {
        bool hollow = parts.empty();

        for (const basic_lock &part : parts)
            hollow = hollow || !part;
        return hollow;
    }

    int make(const std::vector<basic_lock> &parts)
    {
        std::vector<hf_lock *> raw;

        if (is_hollow(parts))
            return HF_EINVAL;
        for (const basic_lock &part : parts)
            raw.push_back(part.raw_);
        int r = construct(parts[0].body_->owner, [&](hf_client *, hf_lock **ret) {
            return hf_all_of(raw.data(), raw.size(), ret);
        });
        for (std::size_t i = 0; r == 0 && i < parts.size(); i++)
            body_->parts.push_back(parts[i].body_);
        return r;
    }
};

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
