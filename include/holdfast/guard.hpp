/* guard.hpp - holding a lock to the end of a scope; see holdfast.hpp. */
#ifndef HOLDFAST_GUARD_HPP
#define HOLDFAST_GUARD_HPP

#include "lock.hpp"

#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace holdfast
{

/* Acquires a lock, and releases it at the end of the scope, if release() was not called.
 *
 * The destructor does not throw.  If the lock was lost, the lock's last_unlock() says
 * errc::lost after it, and on_state was called when it happened.  So end a scope that
 * matters with release(), which throws lock_lost; or use with_lock(), which does. */
class guard : public handle
{
public:
    /* Not holding it if `ec` is set. */
    guard(basic_lock &lock, limit time, std::error_code &ec) noexcept
        : handle(lock.raw_), body_(lock.body_), owns_(lock.acquire(time, ec))
    {
    }

    /* Acquired already, by this thread. */
    guard(basic_lock &lock, std::adopt_lock_t) noexcept
        : handle(lock.raw_), body_(lock.body_), owns_(true)
    {
    }

    guard(guard &&from) noexcept
        : handle(from.raw_), body_(from.body_), owns_(std::exchange(from.owns_, false))
    {
    }

    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;
    guard &operator=(guard &&) = delete;

    ~guard()
    {
        if (owns_)
            body_->unlock();
    }

    /* Is there still something to release? */
    explicit operator bool() const noexcept { return owns_; }

    /* True only if it was yours until now.  There is nothing to release any more, in
     * either case. */
    bool release(std::error_code &ec) noexcept
    {
        ec = make_error_code(give_back());
        return !ec;
    }

#if HOLDFAST_THROWS
    explicit guard(basic_lock &lock, limit time = forever)
        : handle(lock.raw_), body_(lock.body_), owns_(false)
    {
        lock.acquire(time);
        owns_ = true;
    }

    /* The same; throws lock_lost if it was not. */
    void release()
    {
        int r = give_back();
        if (r < 0)
            detail::throw_if(r, *body_->owner);
    }
#endif

private:
    int give_back() noexcept
    {
        return std::exchange(owns_, false) ? body_->unlock() : HF_ESTATE;
    }

    std::shared_ptr<detail::lock_body> body_;
    bool                               owns_;
};

#if HOLDFAST_THROWS
/* Call `work`, with the guard if it takes one, under the lock, and return what it returns.
 * What it throws goes on; if it throws nothing and the lock was lost, lock_lost is thrown. */
template <class Work> auto with_lock(basic_lock &lock, limit time, Work &&work)
{
    guard hold(lock, time);
    auto  call = [&]() -> decltype(auto) {
        if constexpr (std::is_invocable_v<Work, guard &>)
            return std::forward<Work>(work)(hold);
        else
            return std::forward<Work>(work)();
    };

    if constexpr (std::is_void_v<decltype(call())>) {
        call();
        hold.release();
    } else {
        auto result = call();
        hold.release();
        return result;
    }
}

template <class Work> auto with_lock(basic_lock &lock, Work &&work)
{
    return with_lock(lock, forever, std::forward<Work>(work));
}
#endif

} // namespace holdfast

#endif
