/* election.hpp - one leads, and everybody knows who; see holdfast.hpp. */
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

/* One leads, the others queue, and everybody can know who leads.  It takes part from its
 * construction to its destruction, which must not happen in one of its callbacks. */
class election
{
public:
    election(const client &client, const std::string &name, election_options settings,
             std::error_code &ec)
        : body_(std::make_unique<body>(client.session_, std::move(settings)))
    {
        ec = make_error_code(body_->open(name));
        if (ec)
            body_.reset();
    }

    explicit operator bool() const noexcept { return body_ != nullptr; }

    /* Do I lead?  By the clock. */
    bool leads() const noexcept { return hf_election_leads(own_raw()); }

    /* The mutex behind the election: its token, the time that is left. */
    handle lock() const noexcept { return handle(hf_election_lock(own_raw())); }

    /* Step down, or leave the queue, until join(). */
    void resign(std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_election_resign(own_raw()));
    }

    void join(std::error_code &ec) noexcept
    {
        ec = make_error_code(hf_election_join(own_raw()));
    }

    /* The leader first, then the candidates in the order of the queue. */
    report list(limit time, std::error_code &ec) const
    {
        hf_report *raw = nullptr;

        ec = make_error_code(hf_election_list(own_raw(), time.ms(), &raw));
        return raw ? report(raw) : report();
    }

#if HOLDFAST_THROWS
    election(const client &client, const std::string &name,
             election_options settings = election_options())
        : body_(std::make_unique<body>(client.session_, std::move(settings)))
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
        election_options                 settings;
        hf_election                     *raw = nullptr;

        body(std::shared_ptr<detail::session> from, election_options given)
            : session(std::move(from)), settings(std::move(given))
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
            of(data).session->call([&] { of(data).settings.elected(token); });
        }

        static void deposed(hf_election *, int why, void *data) noexcept
        {
            of(data).session->call(
                [&] { of(data).settings.deposed(make_error_code(why)); });
        }

        static void leader(hf_election *, const hf_entry *who, void *data) noexcept
        {
            of(data).session->call([&] {
                if (who == nullptr)
                    return of(data).settings.leader(nullptr);
                const entry leading = detail::make_entry(*who);
                of(data).settings.leader(&leading);
            });
        }

        int open(const std::string &name)
        {
            hf_election_options raw_options = HF_ELECTION_INIT;

            raw_options.note = detail::c_text(settings.note);
            raw_options.observe = settings.observe;
            raw_options.once = settings.once;
            raw_options.elected = settings.elected ? elected : nullptr;
            raw_options.deposed = settings.deposed ? deposed : nullptr;
            raw_options.leader = settings.leader ? leader : nullptr;
            raw_options.data = this;
            return hf_election_new(session->raw, detail::c_name(name), &raw_options,
                                   &raw);
        }
    };

    /* nullptr if it was moved from. */
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
