/* error.hpp - error codes and exceptions; see holdfast.hpp. */
#ifndef HOLDFAST_ERROR_HPP
#define HOLDFAST_ERROR_HPP

#include "mode.hpp"

#include <string>
#include <system_error>
#include <type_traits>

#if HOLDFAST_THROWS
#include <stdexcept>
#endif

namespace holdfast
{

/* The codes of enum hf_error: `if (ec == holdfast::errc::busy)`.  They are the same
 * with and without exceptions, so that files of both kinds can exchange them. */
enum class errc {
    invalid = HF_EINVAL,
    no_memory = HF_ENOMEM,
    busy = HF_EBUSY,
    timed_out = HF_ETIMEOUT,
    canceled = HF_ECANCELED,
    lost = HF_ELOST,
    down = HF_EDOWN,
    denied = HF_EDENIED,
    forked = HF_EFORK,
    not_owner = HF_EOWNER,
    wrong_state = HF_ESTATE,
    mismatch = HF_EMISMATCH,
    full = HF_EFULL,
    corrupt = HF_ECORRUPT,
    unsupported = HF_EUNSUPPORTED,
    not_found = HF_ENOTFOUND,
    store_failed = HF_ESTORE,
    deadlock = HF_EDEADLOCK,
    exhausted = HF_EEXHAUSTED,
};

} // namespace holdfast

namespace std
{
template <> struct is_error_code_enum<holdfast::errc> : true_type {
};
} // namespace std

namespace holdfast
{

namespace codes
{

class category final : public std::error_category
{
public:
    const char *name() const noexcept override { return "holdfast"; }

    std::string message(int code) const override
    {
        return code == 0 ? "success" : hf_strerror(code);
    }

    /* So that `ec == std::errc::timed_out` holds, too. */
    std::error_condition default_error_condition(int code) const noexcept override
    {
        switch (code) {
        case HF_EINVAL:
            return std::errc::invalid_argument;
        case HF_ENOMEM:
            return std::errc::not_enough_memory;
        case HF_EBUSY:
            return std::errc::device_or_resource_busy;
        case HF_ETIMEOUT:
            return std::errc::timed_out;
        case HF_ECANCELED:
            return std::errc::operation_canceled;
        case HF_EDENIED:
            return std::errc::permission_denied;
        case HF_EOWNER:
            return std::errc::operation_not_permitted;
        case HF_EFULL:
            return std::errc::no_space_on_device;
        case HF_EUNSUPPORTED:
            return std::errc::not_supported;
        case HF_ENOTFOUND:
            return std::errc::no_such_file_or_directory;
        case HF_EDEADLOCK:
            return std::errc::resource_deadlock_would_occur;
        default:
            return std::error_condition(code, *this);
        }
    }
};

} // namespace codes

inline const std::error_category &error_category() noexcept
{
    static const codes::category category;
    return category;
}

inline std::error_code make_error_code(errc code) noexcept
{
    return std::error_code(static_cast<int>(code), error_category());
}

/* From the result of a C call: a count, 0 or one of HF_E... */
inline std::error_code make_error_code(int code) noexcept
{
    return std::error_code(code < 0 ? code : 0, error_category());
}

/* May the same call succeed later, unchanged? */
inline bool retryable(const std::error_code &code) noexcept
{
    return code.category() == error_category() && hf_err_retryable(code.value());
}

#if HOLDFAST_THROWS
inline namespace HOLDFAST_MODE
{

/* what() is the message for people; code() the errc. */
class error : public std::system_error
{
public:
    error(int code, const std::string &message)
        : std::system_error(make_error_code(code)), message_(message)
    {
    }

    const char *what() const noexcept override { return message_.what(); }

private:
    std::runtime_error message_; /* copying it cannot throw */
};

/* The lock was yours, but not to the end: stop, and say so. */
class lock_lost : public error
{
    using error::error;
};

/* The lock did not become yours within the time limit. */
class timed_out : public error
{
    using error::error;
};

/* Somebody else has the lock, and you asked not to wait. */
class busy : public error
{
    using error::error;
};

class canceled : public error
{
    using error::error;
};

namespace detail
{

inline void throw_if(int code, const std::string &message)
{
    if (code >= 0)
        return;
    const std::string text = message.empty() ? hf_strerror(code) : message;
    switch (code) {
    case HF_ELOST:
        throw lock_lost(code, text);
    case HF_ETIMEOUT:
        throw timed_out(code, text);
    case HF_EBUSY:
        throw busy(code, text);
    case HF_ECANCELED:
        throw canceled(code, text);
    default:
        throw error(code, text);
    }
}

} // namespace detail

} // namespace HOLDFAST_MODE
#endif

} // namespace holdfast

#endif
