/* locks.cpp - the kinds of locks, with the guards of the standard library. */
#include "check.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <vector>

using namespace holdfast;

static void guards_of_the_standard_library()
{
    client          mine(url), other(url);
    holdfast::mutex lock(mine, "std"), rival(other, "std");
    {
        std::lock_guard<holdfast::mutex> hold(lock);
        CHECK(lock.state() == lock_state::held && lock.token() > 0 && lock.left() > 0ms);
        CHECK(!rival.try_lock());
        CHECK(!rival.try_lock_for(A_WHILE));
        CHECK(!rival.try_lock_for(-5s)); /* not for ever */
        CHECK(!rival.try_lock_until(std::chrono::steady_clock::now() + A_WHILE));
        CHECK(!rival.try_lock_until(std::chrono::system_clock::now() - 1s));
        CHECK(!rival.try_lock_until(std::chrono::steady_clock::time_point::min()));
        CHECK(lock.left() > 500us && lock.left() > 500ns);
        CHECK(std::chrono::system_clock::now() + lock.left() >
              std::chrono::system_clock::now());
        std::unique_lock<holdfast::mutex> attempt(rival, std::try_to_lock);
        CHECK(!attempt);
    }
    CHECK(lock.state() == lock_state::idle && !lock.last_unlock());
    std::unique_lock<holdfast::mutex> hold(rival, ENOUGH);
    CHECK(hold && rival.token() > 0);
    hold.unlock();
    CHECK(!rival.last_unlock());
    lock.lock();
    lock.lock(); /* the thread that holds it may */
    lock.unlock();
    CHECK(!rival.try_lock());
    lock.unlock();
}

/* What was moved from is empty: it refuses, and does not crash. */
static void moved_from()
{
    client          mine(url), client_now(std::move(mine));
    holdfast::mutex lock(client_now, "moved"), lock_now(std::move(lock));
    std::error_code ec;

    CHECK(!mine && mine.where().empty() && mine.fd() < 0);
    CHECK(throws<error>([&] { (void)mine.inspect(); }));
    CHECK(throws<error>([&] { holdfast::mutex(mine, "none"); }));
    holdfast::mutex none(mine, "none", ec);
    CHECK(!none && ec == errc::invalid);
    CHECK(!lock && lock.name().empty() && lock.state() == lock_state::idle);
    CHECK(lock.token() == 0 && lock.left() == 0ms && !lock.asked());
    CHECK(!lock.acquire(once, ec) && ec == errc::invalid);
    CHECK(!lock.release(ec) && ec == errc::invalid);
    CHECK(throws<error>([&] { lock.lock(); }) && throws<error>([&] { lock.try_lock(); }));
    CHECK(throws<error>([&] { guard hold(lock); }));
    CHECK(throws<error>([&] { lock.set_note("none"); }) && !lock.message().empty());
    lock.unlock();
    CHECK(lock.last_unlock() == errc::invalid);

    election first(client_now, "moved-leader"), now(std::move(first));
    CHECK(!first && !first.leads() && !first.lock());
    CHECK(throws<error>([&] { first.resign(); }) && throws<error>([&] { first.list(); }));
    lock_now.lock();
    lock = std::move(lock_now);
    CHECK(lock.state() == lock_state::held);
    lock.unlock();
    CHECK(!lock.last_unlock());
}

/* `take` both locks, given in one order or the other, and count. */
template <class Take> static void take_turns(const Take &take)
{
    constexpr int            rounds = 10;
    int                      counter = 0;
    std::atomic<int>         failed{ 0 };
    std::vector<std::thread> threads;

    for (bool backwards : { false, true })
        threads.emplace_back([&, backwards] {
            try {
                client mine(url);
                for (int i = 0; i < rounds; i++)
                    take(mine, backwards ? "b" : "a", backwards ? "a" : "b", counter);
            } catch (const std::exception &error) {
                std::printf("# %s\n", error.what());
                failed++;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(failed == 0);
    CHECK(counter == 2 * rounds);
}

static void scoped_lock_of_two()
{
    take_turns([](client &mine, const char *first, const char *second, int &counter) {
        holdfast::mutex  one(mine, first), two(mine, second);
        std::scoped_lock hold(one, two);

        counter++;
    });
}

static void all_of_two()
{
    take_turns([](client &mine, const char *first, const char *second, int &counter) {
        all_of both(holdfast::mutex(mine, first), holdfast::mutex(mine, second));
        guard  hold(both, ENOUGH);

        counter++;
        CHECK(both.size() == 2 && both.part(0).name() == first);
        CHECK(both.token() == std::max(both.part(0).token(), both.part(1).token()));
        hold.release();
    });
}

static void all_of_nothing_or_of_what_is_empty()
{
    client                  mine(url);
    std::error_code         ec;
    std::vector<basic_lock> hollow(2);

    CHECK(throws<error>([] { all_of(std::vector<basic_lock>()); }));
    CHECK(!all_of(std::move(hollow), ec) && ec == errc::invalid);
    CHECK(throws<error>([&] { all_of(mine, { "twice", "twice" }); }));
    all_of three(mine, { "x", "y", "z" });
    CHECK(three.size() == 3);
    CHECK(all_of(mine, { "x", "y" }, ec).size() == 2 && !ec);
    CHECK(!all_of(mine, { "x", "a/b" }, ec) && ec == errc::invalid);

    client          other(url);
    holdfast::mutex lock(mine, "one"), rival(other, "one");
    lock.lock();
    CHECK(!rival.acquire(once, ec)); /* a message that must not be told again */
    std::string told =
        what([&] { all_of(holdfast::mutex(other, "b"), holdfast::mutex(mine, "a")); });
    CHECK(told.find("another client") != told.npos);
    CHECK(what([&] { all_of(holdfast::mutex(other, "b"), holdfast::mutex()); }) ==
          hf_strerror(HF_EINVAL));
}

static void a_held_lock_is_moved()
{
    client          mine(url), other(url);
    holdfast::mutex lock(mine, "moved"), rival(other, "moved");

    lock.lock();
    const std::uint64_t token = lock.token();
    holdfast::mutex     second(std::move(lock));
    CHECK(!lock && second.token() == token);
    std::vector<holdfast::mutex> many;
    many.push_back(std::move(second));
    many.emplace_back(mine, "another"); /* and all are moved */
    CHECK(!rival.try_lock() && many[0].token() == token);
    {
        guard           hold(many[0], std::adopt_lock);
        holdfast::mutex third(std::move(many[0]));
        CHECK(hold.token() == token); /* a guard is not confused by that */
        hold.release();
        CHECK(hold.token() == 0 && !hold && !third.last_unlock());
    }
    CHECK(rival.try_lock());
    rival = holdfast::mutex(other, "moved"); /* what was held there is given up */
    CHECK(rival && rival.try_lock_for(ENOUGH));
}

static void a_lock_outlives_its_client()
{
    client          other(url);
    holdfast::mutex rival(other, "outlived");
    {
        holdfast::mutex lock;
        {
            client mine(url);
            lock = holdfast::mutex(mine, "outlived");
            lock.lock();
            client moved(std::move(mine));
            CHECK(!mine && moved);
        }
        CHECK(!rival.try_lock());
    }
    CHECK(rival.try_lock_for(ENOUGH));
}

static void readers_share_and_a_writer_is_alone()
{
    client                 mine(url), other(url);
    holdfast::shared_mutex lock(mine, "shared"), rival(other, "shared");
    std::atomic<int>       inside{ 0 };
    std::atomic<bool>      met{ true };
    auto                   read = [&] {
        std::shared_lock<holdfast::shared_mutex> hold(lock);
        inside++;
        if (!soon([&] { return inside == 2; })) /* both read at the same time */
            met = false;
    };
    std::thread one(read), two(read);
    one.join();
    two.join();
    CHECK(met);

    std::shared_lock<holdfast::shared_mutex> reading(lock), again(lock);
    CHECK(lock.shared().token() > 0);
    CHECK(rival.try_lock_shared());
    rival.release_shared();
    CHECK(!rival.try_lock() && !rival.try_lock_for(A_WHILE));
    CHECK(throws<error>([&] { lock.lock(); })); /* it would wait for itself */
    again.unlock();
    CHECK(!rival.try_lock());
    reading.unlock();
    CHECK(!lock.shared() && !lock.last_unlock());

    std::unique_lock<holdfast::shared_mutex> writing(rival, ENOUGH);
    CHECK(writing && !lock.try_lock_shared() && !lock.try_lock_shared_for(A_WHILE));
    CHECK(!lock.try_lock_shared_until(std::chrono::steady_clock::now() + A_WHILE));
    writing.release()->downgrade();
    CHECK(lock.try_lock_shared_for(ENOUGH) && rival.exclusive().token() == 0);
    lock.release_shared();
    std::error_code ec;
    CHECK(rival.release_shared(ec) && !rival.release_shared(ec));
    CHECK(ec == errc::wrong_state);
    CHECK(lock.acquire(ENOUGH, ec) && take_away(lock.exclusive()));
    CHECK(throws<lock_lost>([&] { lock.release(); }));
}

/* Nobody is left reading who was told of a failure, and nobody waits. */
static void a_downgrade_of_what_is_not_held()
{
    client                 mine(url), other(url);
    holdfast::shared_mutex lock(mine, "down"), rival(other, "down");
    std::error_code        ec;

    CHECK(throws<error>([&] { lock.downgrade(); }) && !lock.shared());
    CHECK(!lock.downgrade(ec) && ec == errc::wrong_state && !lock.shared());

    lock.lock();
    CHECK(take_away(lock.exclusive())); /* and the line is free */
    CHECK(throws<lock_lost>([&] { lock.downgrade(); }) && !lock.shared());
    CHECK(rival.try_lock_for(ENOUGH)); /* for nobody reads */
    rival.unlock();

    CHECK(lock.acquire(ENOUGH, ec) && take_away(lock.exclusive()));
    CHECK(rival.try_lock_for(ENOUGH));
    CHECK(!lock.downgrade(ec) && ec == errc::lost); /* without waiting for the rival */
    CHECK(!lock.shared() && lock.exclusive().state() == lock_state::idle);
    CHECK(rival.downgrade(ec) && rival.shared() && rival.release_shared(ec));

    CHECK(what([&] { rival.release_shared(); }) == hf_strerror(HF_ESTATE));
}

static void slots_and_claims()
{
    client    mine(url), other(url);
    semaphore first(mine, "slots", 2), second(other, "slots", 2),
        heavy(other, "slots", 2, 2);

    first.acquire(ENOUGH);
    second.acquire(ENOUGH);
    CHECK(first.slot() + second.slot() == 1);
    first.release();
    second.release();
    heavy.acquire(ENOUGH);
    CHECK(!first.try_lock());
    heavy.release();

    claim mark(mine, "claimed"), late(other, "claimed");
    mark.acquire(once);
    CHECK(throws<busy>([&] { late.acquire(once); }));
    mark.release();
    writer one(mine, "text");
    reader two(other, "text");
    one.lock();
    one.downgrade();
    CHECK(two.try_lock_for(ENOUGH));
}

int main(int argc, char **argv)
{
    const test_case cases[] = {
        { "guards of the standard library", guards_of_the_standard_library },
        { "what was moved from refuses", moved_from },
        { "std::scoped_lock of two", scoped_lock_of_two },
        { "all_of two", all_of_two },
        { "all_of nothing, or of what is empty", all_of_nothing_or_of_what_is_empty },
        { "a held lock is moved", a_held_lock_is_moved },
        { "a lock outlives its client", a_lock_outlives_its_client },
        { "readers share, a writer is alone", readers_share_and_a_writer_is_alone },
        { "a downgrade of what is not held", a_downgrade_of_what_is_not_held },
        { "slots and claims", slots_and_claims },
    };

    return run(argc, argv, cases);
}
