/* election.hpp - one leads, everybody knows who; see holdfast.hpp. */
#ifndef HOLDFAST_ELECTION_HPP
#define HOLDFAST_ELECTION_HPP

#include "client.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace holdfast
{
inline namespace HOLDFAST_MODE
{

/* struct hf_election_options. */
struct election_options {
    std::string                              note;
    bool                                     observe = false;
    bool                                     once = false;
    std::function<void(std::uint64_t token)> elected;
    std::function<void(std::error_code why)> deposed;
    std::function<void(const entry *leader)> leader; /* lent; nullptr: nobody leads */
};

/* One leads, the rest queue, everybody can know who leads.  Takes part from its
 * construction to its destruction, which is not to be in one of its callbacks. */
class election
{
public:
    election(const client &client, const std::string &name, election_options wishes,
             std::error_code &ec)
        : body_(std::make_unique<body>(client.session_, std::move(wishes)))
    {
        ec = make_error_code(body_->open(name));
        if (ec)
            body_.reset();
    }

    explicit operator bool() const noexcept { return body_ != nullptr; }

    /* Do I lead?  By the clock. */
    bool leads() const noexcept { return hf_election_leads(own_raw()); }

    /* The mutex underneath: its token, the time that is left. */
    handle lock() const noexcept { return handle(hf_election_lock(own_raw())); }

    /* Step down, or out of the queue, until join(). */
    void resign(std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_election_resign(own_raw()));
    }

    void join(std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_election_join(own_raw()));
    }

    /* The leader first, then those who would follow. */
    report list(limit time, std::error_code &ec) const
    {
        hf_report *raw = nullptr;

        ec = make_error_code(hf_election_list(own_raw(), time.ms(), &raw));
        return raw ? report(raw) : report();
    }

#if HOLDFAST_THROWS
    election(const client &client, const std::string &name,
             election_options wishes = election_options())
        : body_(std::make_unique<body>(client.session_, std::move(wishes)))
    {
        detail::throw_if(body_->open(name), client.session_);
    }

    void resign() { detail::throw_if(hf_election_resign(own_raw()), own_session()); }

    void join() { detail::throw_if(hf_election_join(own_raw()), own_session()); }

    report list(limit time = holdfast::once) const
    {
        std::error_code ec;
        report          found = list(time, ec);

        detail::throw_if(ec.value(), own_session());
        return found;
    }
#endif

private:
    struct body {
        std::shared_ptr<detail::session> session;
        election_options                 wishes;
        hf_election                     *raw = nullptr;

        body(std::shared_ptr<detail::session> from, election_options given)
            : session(std::move(from)), wishes(std::move(given))
        {
        }

        body(const body &) = delete;
        body &operator=(const body &) = delete;

        ~body() { hf_election_free(raw); }

        static const body &of(void *data) noexcept
        {
            return *static_cast<const body *>(data);
        }

        static void elected(hf_election *, std::uint64_t token, void *data) noexcept
        {
            of(data).session->call([&] { of(data).wishes.elected(token); });
        }

        static void deposed(hf_election *, int why, void *data) noexcept
        {
            of(data).session->call(
                [&] { of(data).wishes.deposed(make_error_code(why)); });
        }

        static void leader(hf_election *, const hf_entry *who, void *data) noexcept
        {
            of(data).session->call([&] {
                if (who == nullptr)
                    return of(data).wishes.leader(nullptr);
                const entry leading = detail::make_entry(*who);
                of(data).wishes.leader(&leading);
            });
        }

        int open(const std::string &name)
        {
            hf_election_options raw_options = HF_ELECTION_INIT;

            raw_options.note = detail::c_text(wishes.note);
            raw_options.observe = wishes.observe;
            raw_options.once = wishes.once;
            raw_options.elected = wishes.elected ? elected : nullptr;
            raw_options.deposed = wishes.deposed ? deposed : nullptr;
            raw_options.leader = wishes.leader ? leader : nullptr;
            raw_options.data = this;
            return hf_election_new(session->raw, detail::c_name(name), &raw_options,
                                   &raw);
        }
    };

    /* nullptr of what was moved from. */
    hf_election *own_raw() const noexcept { return body_ ? body_->raw : nullptr; }

    std::shared_ptr<detail::session> own_session() const noexcept
    {
        return body_ ? body_->session : nullptr;
    }

    std::unique_ptr<body> body_;
};

} // namespace HOLDFAST_MODE
} // namespace holdfast

#endif
