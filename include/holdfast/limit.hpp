/* limit.hpp - how long a call may take; see holdfast.hpp. */
#ifndef HOLDFAST_LIMIT_HPP
#define HOLDFAST_LIMIT_HPP

#include "mode.hpp"

#include <chrono>
#include <cstdint>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

/* How long a call may take: any std::chrono::duration, `once` or `forever`.  Parts of a
 * millisecond count as a whole one.  A duration of 0 or less is `once`: try, do not wait.
 * One of more than a hundred years is `forever`. */
class limit
{
public:
    template <class Rep, class Period>
    constexpr limit(const std::chrono::duration<Rep, Period> &time) : ms_(count(time))
    {
    }

    /* For holdfast.h: negative is for ever. */
    constexpr std::int64_t ms() const noexcept { return ms_; }

    static constexpr limit none() noexcept { return limit(-1); }

private:
    explicit constexpr limit(int ms) noexcept : ms_(ms) {}

    template <class Rep, class Period>
    static constexpr std::int64_t count(const std::chrono::duration<Rep, Period> &time)
    {
        using std::chrono::milliseconds;
        if (!(time > std::chrono::duration<Rep, Period>::zero()))
            return 0;
        if (std::chrono::duration<double, std::milli>(time).count() > 3.2e12)
            return -1;
        return std::chrono::ceil<milliseconds>(time).count();
    }

    std::int64_t ms_;
};

inline constexpr limit forever = limit::none();
inline constexpr limit once = limit(std::chrono::milliseconds(0));

namespace detail
{

/* For ever, to `limit`; but it fits into any duration down to nanoseconds, even when it
 * is added to the present time. */
inline constexpr std::chrono::milliseconds HUNDRED_YEARS(INT64_C(3155760000000));

/* Call `attempt` with the time left until `end`, until it returns true; at least once.
 * If the clock is set back meanwhile, it is called again. */
template <class Clock, class Duration, class Attempt>
bool try_until(const std::chrono::time_point<Clock, Duration> &end,
               const Attempt                                  &attempt)
{
    for (bool tried = false;; tried = true) {
        const auto now = Clock::now();

        if (!(now < end)) /* before the difference, which may not fit */
            return !tried && attempt(once);
        if (attempt(end - now))
            return true;
    }
}

} // namespace detail

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
