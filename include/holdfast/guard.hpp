/* guard.hpp - holding a lock to the end of a scope; see holdfast.hpp. */
#ifndef HOLDFAST_GUARD_HPP
#define HOLDFAST_GUARD_HPP

#include "lock.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

/* Acquires a lock, and releases it at the end of the scope, unless release() was called.
 *
 * The destructor does not throw.  If the lock was lost, the lock's last_unlock() says
 * errc::lost after it, and on_state was called when it happened.  So end a scope that
 * matters with release(), which throws lock_lost; or use with_lock(), which does.
 *
 * A lock belongs to the thread that acquired it.  So a guard that is moved into another
 * thread cannot release there: errc::not_owner, and the lock stays held.  Call
 * set_any_thread(true) on the lock before, if that is what you want. */
class guard : public handle
{
public:
    /* If `ec` is set, it does not hold the lock. */
    guard(basic_lock &lock, limit time, std::error_code &ec) noexcept
        : handle(lock.raw_), body_(lock.body_), owns_(lock.acquire(time, ec))
    {
    }

    /* This thread has acquired the lock already. */
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

    /* True only if the lock was yours until now.  In either case the guard has nothing to
     * release any more. */
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

    /* The same; throws lock_lost if it was not yours. */
    void release()
    {
        if (!owns_) /* no call of the library failed */
            detail::throw_if(HF_ESTATE, std::string());
        detail::throw_if(give_back(), body_->owner);
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
/* Call `work` under the lock, with the guard if it takes one, and return its result.
 * An exception of `work` is passed on; if there is none and the lock was lost,
 * lock_lost is thrown.  `work` may release the guard itself. */
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
        if (hold)
            hold.release();
    } else {
        auto result = call();
        if (hold)
            hold.release();
        return result;
    }
}

template <class Work> auto with_lock(basic_lock &lock, Work &&work)
{
    return with_lock(lock, forever, std::forward<Work>(work));
}
#endif

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
