/* handle.hpp - a reference to a lock, to read its state; see holdfast.hpp. */
#ifndef HOLDFAST_HANDLE_HPP
#define HOLDFAST_HANDLE_HPP

#include "error.hpp"
#include "limit.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

enum class lock_state {
    idle = HF_IDLE,
    waiting = HF_WAITING,
    held = HF_HELD,
    leaving = HF_LEAVING,
    lost = HF_LOST,
};

enum class link_state {
    down = HF_LINK_DOWN,
    up = HF_LINK_UP,
    lost = HF_LINK_LOST,
};

/* The state of a lock, and the calls that any thread may make.  Callbacks get one; it
 * is valid as long as the lock. */
class handle
{
public:
    explicit handle(hf_lock *raw) noexcept : raw_(raw) {}

    explicit operator bool() const noexcept { return raw_ != nullptr; }

    std::string name() const { return hf_name(raw_); }

    lock_state state() const noexcept { return static_cast<lock_state>(hf_state(raw_)); }

    /* The reason of the last change. */
    std::error_code why() const noexcept { return make_error_code(hf_why(raw_)); }

    std::uint64_t token() const noexcept { return hf_token(raw_); }

    int slot() const noexcept { return hf_slot(raw_); }

    std::int64_t ahead() const noexcept { return hf_ahead(raw_); }

    /* How much longer the lock is certainly yours.  A hundred years mean: as long as this
     * process lives; that can be compared and added like any other time. */
    std::chrono::milliseconds left() const noexcept
    {
        return (std::min)(std::chrono::milliseconds(hf_left_ms(raw_)),
                          detail::HUNDRED_YEARS);
    }

    /* Is it certainly ours?  For every step that matters: does not contact the store. */
    void ensure_held(std::error_code &ec) const noexcept
    {
        ec = make_error_code(still_held());
    }

    /* The same, but asks the store, in the strictest way it offers; see hf_check(). */
    void check(limit time, std::error_code &ec) const noexcept
    {
        ec = make_error_code(hf_check(raw_, time.ms()));
    }

#if HOLDFAST_THROWS
    void ensure_held() const { throw_if(still_held()); }

    void check(limit time = once) const { throw_if(hf_check(raw_, time.ms())); }
#endif

    /* Descriptors to poll; negative: one of HF_E... */
    int lost_fd() const noexcept { return hf_lost_fd(raw_); }

    int ask_fd() const noexcept { return hf_ask_fd(raw_); }

    /* Has somebody asked for it since it was acquired?  *reason is the last reason. */
    bool asked(std::string *reason = nullptr) const
    {
        char text[1024] = "";
        bool yes = hf_asked(raw_, text, sizeof text);

        if (yes && reason != nullptr)
            *reason = text;
        return yes;
    }

    hf_stats stats() const noexcept
    {
        hf_stats stats = hf_stats();

        hf_get_stats(raw_, &stats, sizeof stats);
        return stats;
    }

    /* End every wait for it with errc::canceled, from any thread. */
    std::error_code cancel() const noexcept { return make_error_code(hf_cancel(raw_)); }

    hf_lock *native_handle() const noexcept { return raw_; }

protected:
    hf_lock *raw_;

private:
    int still_held() const noexcept
    {
        if (hf_left_ms(raw_) > 0)
            return 0;
        lock_state now = state();
        return now == lock_state::held || now == lock_state::lost ? HF_ELOST : HF_ESTATE;
    }

#if HOLDFAST_THROWS
    void throw_if(int code) const
    {
        if (code < 0)
            detail::throw_if(code, name() + ": " + hf_strerror(code));
    }
#endif
};

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
