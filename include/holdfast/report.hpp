/* report.hpp - holders and waiters; see holdfast.hpp. */
#ifndef HOLDFAST_REPORT_HPP
#define HOLDFAST_REPORT_HPP

#include "mode.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

/* struct hf_entry, with strings of its own. */
struct entry {
    std::string                           name;
    std::string                           kind;
    bool                                  held;
    std::uint64_t                         token;
    std::chrono::system_clock::time_point since;
    std::uint32_t                         weight;
    std::uint32_t                         capacity;
    int                                   slot;
    std::string                           host;
    std::string                           user;
    std::int64_t                          pid;
    std::string                           command;
    std::string                           note;
    std::string                           version;
};

/* One finding about a store; struct hf_finding. */
struct finding {
    hf_level    level;
    std::string about;
    std::string text;
    std::string advice;
};

namespace detail
{

inline entry make_entry(const hf_entry &from)
{
    const std::chrono::microseconds                       since(from.since);
    const std::chrono::system_clock::time_point::duration ticks =
        std::chrono::duration_cast<std::chrono::system_clock::duration>(since);

    return entry{ from.name,
                  from.kind,
                  from.held,
                  from.token,
                  std::chrono::system_clock::time_point(ticks),
                  from.weight,
                  from.capacity,
                  from.slot,
                  from.host,
                  from.user,
                  from.pid,
                  from.command,
                  from.note,
                  from.version };
}

} // namespace detail

/* The places in one queue or in all, sorted by name, then first come first served: a
 * constant range of entries. */
class report
{
public:
    using value_type = entry;
    using const_iterator = std::vector<entry>::const_iterator;

    report() = default;

    const_iterator begin() const noexcept { return entries_.begin(); }

    const_iterator end() const noexcept { return entries_.end(); }

    std::size_t size() const noexcept { return entries_.size(); }

    bool empty() const noexcept { return entries_.empty(); }

    const entry &operator[](std::size_t at) const { return entries_[at]; }

private:
    friend class client;
    friend class election;

    explicit report(hf_report *raw) : raw_(raw, hf_report_free)
    {
        entries_.reserve(raw->count);
        for (std::size_t i = 0; i < raw->count; i++)
            entries_.push_back(detail::make_entry(*raw->entry[i]));
    }

    std::unique_ptr<hf_report, void (*)(hf_report *)> raw_{ nullptr, hf_report_free };
    std::vector<entry>                                entries_;
};

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
