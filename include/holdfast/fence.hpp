/* fence.hpp - keeping a late holder out of a file; see holdfast.hpp. */
#ifndef HOLDFAST_FENCE_HPP
#define HOLDFAST_FENCE_HPP

#include "error.hpp"
#include "limit.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include <unistd.h>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

/* Claims a file or folder, and keeps all others out to the end of the scope; see
 * hf_fence_file().  errc::lost, or lock_lost: the token is stale. */
class file_fence
{
public:
    /* If `ec` is set, nothing is claimed; `message` says why. */
    file_fence(const std::string &path, std::uint64_t token, limit time,
               std::error_code &ec, std::string *message = nullptr)
    {
        char text[512] = "a string has a null character in it";
        int  r = HF_EINVAL;

        if (path.find('\0') == std::string::npos)
            r = hf_fence_file(path.c_str(), token, time.ms(), text, sizeof text);
        ec = make_error_code(r);
        if (r >= 0)
            fd_ = r;
        else if (message != nullptr)
            *message = text;
    }

#if HOLDFAST_THROWS
    file_fence(const std::string &path, std::uint64_t token, limit time = forever)
    {
        std::error_code ec;
        std::string     message;

        *this = file_fence(path, token, time, ec, &message);
        detail::throw_if(ec.value(), message);
    }
#endif

    file_fence(file_fence &&from) noexcept : fd_(std::exchange(from.fd_, -1)) {}

    file_fence &operator=(file_fence &&from) noexcept
    {
        std::swap(fd_, from.fd_);
        return *this;
    }

    file_fence(const file_fence &) = delete;
    file_fence &operator=(const file_fence &) = delete;

    ~file_fence() { release(); }

    explicit operator bool() const noexcept { return fd_ >= 0; }

    /* Let others in, before the end of the scope. */
    void release() noexcept
    {
        if (fd_ >= 0)
            ::close(std::exchange(fd_, -1));
    }

private:
    int fd_ = -1;
};

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
