/* lock.hpp - the calls that all kinds of locks have; see holdfast.hpp. */
#ifndef HOLDFAST_LOCK_HPP
#define HOLDFAST_LOCK_HPP

#include "client.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

namespace detail
{

/* A C lock, and the objects that must outlive it. */
struct lock_body {
    std::shared_ptr<session>                owner;
    std::vector<std::shared_ptr<lock_body>> parts; /* of an all_of: freed after it */
    hf_lock                                *raw = nullptr;
    std::atomic<int>                        unlocked{ 0 };

    explicit lock_body(std::shared_ptr<session> from) : owner(std::move(from)) {}

    lock_body(const lock_body &) = delete;
    lock_body &operator=(const lock_body &) = delete;

    ~lock_body() { hf_lock_free(raw); }

    int unlock() noexcept
    {
        int r = hf_release(raw);

        unlocked = r;
        return r;
    }
};

} // namespace detail

/* The base class of all kinds of locks. */
class basic_lock : public handle
{
public:
    basic_lock() noexcept : handle(nullptr) {}

    basic_lock(basic_lock &&from) noexcept
        : handle(std::exchange(from.raw_, nullptr)), body_(std::move(from.body_))
    {
    }

    /* The lock on the left is given up if it is held, unless a guard of it exists. */
    basic_lock &operator=(basic_lock &&from) noexcept
    {
        body_ = std::move(from.body_);
        raw_ = std::exchange(from.raw_, nullptr);
        return *this;
    }

    /* True if the lock is yours now.  errc::busy, errc::timed_out... */
    bool acquire(limit time, std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_acquire(raw_, time.ms()));
        return !ec;
    }

    /* True only if the lock was yours until now.  errc::lost: it was not. */
    bool release(std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_release(raw_));
        return !ec;
    }

    /* The same without waiting: on_state or state() tells the result. */
    bool acquire_start(limit time, std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_acquire_start(raw_, time.ms()));
        return !ec;
    }

    bool release_start(std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_release_start(raw_));
        return !ec;
    }

    /* As release(), for std::unique_lock and the like; last_unlock() tells the result. */
    void unlock() noexcept
    {
        if (body_)
            body_->unlock();
    }

    /* The result of the last unlock(), or of the last guard: errc::lost? */
    std::error_code last_unlock() const noexcept
    {
        return make_error_code(body_ ? body_->unlocked.load() : HF_EINVAL);
    }

    void set_note(const std::string &note, std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_set_note(raw_, detail::c_text(note)));
    }

    void set_any_thread(bool any_thread, std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_set_any_thread(raw_, any_thread));
    }

    void set_max_waiters(std::uint32_t most, std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_set_max_waiters(raw_, most));
    }

    void set_follow(bool follow, std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_set_follow(raw_, follow));
    }

    /* The message of the last failure of its client in this thread. */
    std::string message() const { return hf_errmsg(detail::raw_of(own_session())); }

#if HOLDFAST_THROWS
    void acquire(limit time = forever) { throw_if(hf_acquire(raw_, time.ms())); }

    void release() { throw_if(hf_release(raw_)); }

    void acquire_start(limit time = forever)
    {
        throw_if(hf_acquire_start(raw_, time.ms()));
    }

    void release_start() { throw_if(hf_release_start(raw_)); }

    void lock() { acquire(); }

    bool try_lock() { return try_for(once); }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
    {
        return try_for(time);
    }

    /* If the clock is set back meanwhile, the lock queues again, at the end. */
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &end)
    {
        return detail::try_until(end, [&](limit time) { return try_for(time); });
    }

    void set_note(const std::string &note)
    {
        throw_if(hf_set_note(raw_, detail::c_text(note)));
    }

    void set_any_thread(bool any_thread)
    {
        throw_if(hf_set_any_thread(raw_, any_thread));
    }

    void set_max_waiters(std::uint32_t most) { throw_if(hf_set_max_waiters(raw_, most)); }

    void set_follow(bool follow) { throw_if(hf_set_follow(raw_, follow)); }
#endif

protected:
    /* `make` gets the client and a pointer for the lock. */
    template <class Make>
    int construct(std::shared_ptr<detail::session> session, const Make &make)
    {
        auto body = std::make_shared<detail::lock_body>(std::move(session));
        int  r = make(detail::raw_of(body->owner), &body->raw);

        if (r == 0) {
            raw_ = body->raw;
            body_ = std::move(body);
        }
        return r;
    }

    static const std::shared_ptr<detail::session> &session_of(const client &client)
    {
        return client.session_;
    }

#if HOLDFAST_THROWS
    void throw_if(int code) const
    {
        if (code < 0)
            detail::throw_if(code, own_session());
    }

    bool try_for(limit time)
    {
        int r = hf_acquire(raw_, time.ms());

        if (r != HF_EBUSY && r != HF_ETIMEOUT)
            throw_if(r);
        return r == 0;
    }
#endif

    std::shared_ptr<detail::session> own_session() const noexcept
    {
        return body_ ? body_->owner : nullptr;
    }

    std::shared_ptr<detail::lock_body> body_;

private:
    friend class guard;
    friend class all_of;
};

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
