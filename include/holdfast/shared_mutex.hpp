/* shared_mutex.hpp - readers and writers of one name, for std::shared_lock; see
 * holdfast.hpp. */
#ifndef HOLDFAST_SHARED_MUTEX_HPP
#define HOLDFAST_SHARED_MUTEX_HPP

#include "kinds.hpp"

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

/* For std::shared_lock and std::unique_lock.  Each thread that reads has a place of its
 * own in the queue, so that readers never overtake a waiting writer, in whatever
 * process. */
class shared_mutex
{
public:
    shared_mutex() noexcept = default;

    shared_mutex(const client &client, const std::string &name, std::error_code &ec)
        : body_(std::make_unique<body>(client.session_, name))
    {
        ec = make_error_code(body_->exclusive.make(client.session_, name));
        if (ec)
            body_.reset();
    }

    explicit operator bool() const noexcept { return body_ != nullptr; }

    /* The writer, for its token, a guard and so on. */
    writer &exclusive() noexcept { return body_->exclusive; }

    /* The reader of this thread while it holds one; else an empty handle. */
    handle shared() const
    {
        const std::lock_guard<std::mutex> inside(body_->mutex);

        for (const seat &one : body_->taken)
            if (one.thread == std::this_thread::get_id())
                return handle(one.lock.native_handle());
        return handle(nullptr);
    }

    bool acquire(limit time, std::error_code &ec) noexcept
    {
        return body_->exclusive.acquire(time, ec);
    }

    bool release(std::error_code &ec) noexcept { return body_->exclusive.release(ec); }

    bool acquire_shared(limit time, std::error_code &ec)
    {
        ec = make_error_code(read(time));
        return !ec;
    }

    bool release_shared(std::error_code &ec) noexcept
    {
        ec = make_error_code(stop_reading());
        return !ec;
    }

    /* Turn the writer into a reader, with no other writer in between; then
     * unlock_shared().  Does not wait.  After a failure this thread holds no reader;
     * errc::lost: and no writer. */
    bool downgrade(std::error_code &ec)
    {
        ec = make_error_code(write_to_read());
        return !ec;
    }

    void unlock() noexcept
    {
        std::error_code ec;

        body_->exclusive.release(ec);
        remember(ec);
    }

    void unlock_shared() noexcept { remember(make_error_code(stop_reading())); }

    /* The result of the last unlock() or unlock_shared() of any thread. */
    std::error_code last_unlock() const noexcept
    {
        const std::lock_guard<std::mutex> inside(body_->mutex);

        return body_->unlocked;
    }

#if HOLDFAST_THROWS
    shared_mutex(const client &client, const std::string &name)
        : body_(std::make_unique<body>(client.session_, name))
    {
        body_->exclusive = writer(client, name);
    }

    void lock() { body_->exclusive.lock(); }

    bool try_lock() { return body_->exclusive.try_lock(); }

    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
    {
        return body_->exclusive.try_lock_for(time);
    }

    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &end)
    {
        return body_->exclusive.try_lock_until(end);
    }

    void lock_shared() { throw_if(read(forever)); }

    bool try_lock_shared() { return try_read(once); }

    template <class Rep, class Period>
    bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
    {
        return try_read(time);
    }

    template <class Clock, class Duration>
    bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &end)
    {
        return detail::try_until(end, [&](limit time) { return try_read(time); });
    }

    /* Throw lock_lost if the lock was not yours to the end. */
    void release() { body_->exclusive.release(); }

    void release_shared()
    {
        int r = stop_reading();

        if (r == HF_ESTATE) /* no call of the library failed */
            detail::throw_if(r, std::string());
        throw_if(r);
    }

    void downgrade() { throw_if(write_to_read()); }
#endif

private:
    /* A thread that reads, and how often it has locked. */
    struct seat {
        std::thread::id thread;
        reader          lock;
        unsigned        depth = 0;
    };

    struct body {
        std::shared_ptr<detail::session> session;
        std::string                      name;
        writer                           exclusive;
        mutable std::mutex               mutex;
        std::list<seat>                  taken, idle;
        std::error_code                  unlocked;

        body(std::shared_ptr<detail::session> from, std::string called)
            : session(std::move(from)), name(std::move(called))
        {
        }
    };

    void remember(const std::error_code &ec) noexcept
    {
        const std::lock_guard<std::mutex> inside(body_->mutex);

        body_->unlocked = ec;
    }

    using place = std::list<seat>::iterator;

    /* The seat of this thread, or the end. */
    place find() const noexcept
    {
        place at = body_->taken.begin();

        while (at != body_->taken.end() && at->thread != std::this_thread::get_id())
            ++at;
        return at;
    }

    /* The seat of this thread: its own, an unused one, or a new one. */
    int sit_down(place &ret)
    {
        const std::lock_guard<std::mutex> inside(body_->mutex);

        ret = find();
        if (ret != body_->taken.end())
            return 0;
        if (body_->idle.empty()) {
            seat fresh;
            int  r = fresh.lock.make(body_->session, body_->name);
            if (r < 0)
                return r;
            body_->idle.push_back(std::move(fresh));
        }
        ret = body_->idle.begin();
        ret->thread = std::this_thread::get_id();
        body_->taken.splice(body_->taken.end(), body_->idle, ret);
        return 0;
    }

    void stand_up(place at) noexcept
    {
        const std::lock_guard<std::mutex> inside(body_->mutex);

        if (at->depth == 0)
            body_->idle.splice(body_->idle.end(), body_->taken, at);
    }

    int read(limit time)
    {
        place at;
        int   r = sit_down(at);

        if (r < 0)
            return r;
        r = hf_acquire(at->lock.native_handle(), time.ms());
        if (r == 0)
            at->depth++;
        else
            stand_up(at);
        return r;
    }

    int stop_reading() noexcept
    {
        place at;
        {
            const std::lock_guard<std::mutex> inside(body_->mutex);
            at = find();
            if (at == body_->taken.end())
                return HF_ESTATE;
        }
        int r = hf_release(at->lock.native_handle());
        if (r == 0 || r == HF_ELOST)
            at->depth--;
        stand_up(at);
        return r;
    }

    int write_to_read()
    {
        hf_lock *writing = body_->exclusive.native_handle();
        int      r = read(once); /* granted at once: this thread holds the writer */

        if (r == HF_EBUSY && hf_state(writing) == HF_HELD)
            return HF_EOWNER; /* another thread holds it, or no thread in particular */
        if (r == HF_EBUSY)
            return hf_release(writing); /* the writer is lost, or was never held */
        if (r < 0)
            return r;
        r = hf_release(writing);
        if (r < 0)
            stop_reading();
        return r;
    }

#if HOLDFAST_THROWS
    bool try_read(limit time)
    {
        int r = read(time);

        if (r != HF_EBUSY && r != HF_ETIMEOUT)
            throw_if(r);
        return r == 0;
    }

    void throw_if(int code) const
    {
        if (code < 0)
            detail::throw_if(code, body_->session);
    }
#endif

    std::unique_ptr<body> body_;
};

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
