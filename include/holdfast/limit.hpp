/* limit.hpp - how long a call may take; see holdfast.hpp. */
#ifndef HOLDFAST_LIMIT_HPP
#define HOLDFAST_LIMIT_HPP

#include <chrono>
#include <cstdint>

namespace holdfast
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

} // namespace holdfast

#endif
