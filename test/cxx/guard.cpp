/* guard.cpp - what a holder is told, by exceptions, by error codes and by callbacks. */
#include "check.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

using namespace holdfast;

static void a_lost_lock_is_told_by_release()
{
    client          mine(url);
    holdfast::mutex lock(mine, "lost");
    guard           hold(lock, ENOUGH);

    hold.ensure_held();
    hold.check(ENOUGH);
    CHECK(hold.left() > 0ms);
    CHECK(take_away(hold));
    CHECK(throws<lock_lost>([&] { hold.ensure_held(); }));
    CHECK(throws<lock_lost>([&] { hold.release(); }));
    CHECK(!hold && lock.last_unlock() == errc::lost);
    CHECK(what([&] { hold.release(); }) == hf_strerror(HF_ESTATE)); /* nothing is held */
    CHECK(throws<error>([&] { lock.ensure_held(); }));

    guard again(lock, ENOUGH);
    again.release();
    CHECK(!lock.last_unlock());
}

/* The first exception counts: neither a guard nor std::lock_guard throws a second. */
static void a_lock_is_lost_while_another_exception_is_under_way()
{
    client          mine(url);
    holdfast::mutex lock(mine, "unwinding");

    CHECK(throws<std::out_of_range>([&] {
        guard hold(lock, ENOUGH);
        CHECK(take_away(hold));
        throw std::out_of_range("the work failed");
    }));
    CHECK(lock.last_unlock() == errc::lost);
    CHECK(throws<std::out_of_range>([&] {
        std::lock_guard<holdfast::mutex> hold(lock);
        CHECK(take_away(lock));
        throw std::out_of_range("the work failed");
    }));
    CHECK(lock.last_unlock() == errc::lost);
}

static void work_under_a_lock()
{
    client          mine(url);
    holdfast::mutex lock(mine, "work");
    int             done = 0;

    CHECK(with_lock(lock, ENOUGH, [](guard &hold) { return hold.token(); }) > 0);
    with_lock(lock, [&] { done++; });
    CHECK(done == 1 && lock.state() == lock_state::idle);
    with_lock(lock, [](guard &hold) { hold.release(); }); /* that is its right */
    CHECK(throws<lock_lost>([&] { with_lock(lock, [&] { CHECK(take_away(lock)); }); }));
    CHECK(throws<std::out_of_range>([&] {
        with_lock(lock, [&] {
            CHECK(take_away(lock));
            throw std::out_of_range("the work failed");
        });
    }));
    CHECK(lock.state() == lock_state::idle);
}

static void why_it_was_not_acquired()
{
    client          mine(url), other(url);
    holdfast::mutex lock(mine, "why"), rival(other, "why");
    guard           hold(lock, ENOUGH);
    std::error_code ec;

    CHECK(throws<busy>([&] { guard(rival, once); }));
    CHECK(throws<timed_out>([&] { guard(rival, A_WHILE); }));
    guard none(rival, A_WHILE, ec);
    CHECK(!none && ec == errc::timed_out && ec == std::errc::timed_out && retryable(ec));
    CHECK(!rival.acquire(once, ec) && ec == errc::busy);
    CHECK(ec == std::errc::device_or_resource_busy && !ec.message().empty());
    CHECK(!rival.message().empty());

    reader wrong(other, "why");
    CHECK(!wrong.acquire(ENOUGH, ec) && ec == errc::mismatch);
    CHECK(throws<error>([&] { wrong.try_lock(); })); /* that is no "not now" */

    std::thread impatient([&] {
        soon([&] { return rival.state() == lock_state::waiting; });
        rival.cancel();
    });
    const bool  told = throws<canceled>([&] { rival.lock(); });
    impatient.join();
    CHECK(told);

    CHECK(hold.release(ec) && rival.acquire(ENOUGH, ec) && !ec);
    CHECK(rival.release(ec));
    CHECK(!rival.release(ec) && ec == errc::wrong_state);
}

static void what_makes_no_sense()
{
    std::error_code ec;
    client          none("nonsense:", options(), ec), mine(url);

    CHECK(!none && ec == errc::unsupported && !none.message().empty());
    CHECK(throws<error>([] { client("nonsense:"); }));
    CHECK(throws<error>([&] { holdfast::mutex(mine, "a/b"); }));
    CHECK(!holdfast::mutex(mine, "", ec) && ec == errc::invalid);
    CHECK(!holdfast::mutex(mine, std::string("a\0b", 3), ec)); /* would be "a" in C */
    CHECK(!holdfast::shared_mutex(mine, "..", ec) && ec == errc::invalid);
    CHECK(!semaphore(mine, "none", 0, 1, ec) && ec == errc::invalid);
    CHECK(throws<error>([&] { election(mine, "/"); }));
    CHECK(throws<error>([] { end_session({ 1, 2, 3 }); }));
    CHECK(throws<error>([] { client(url + std::string("\0", 1)); }));
    load(url);
    std::string told;
    load("nonsense:", ec, &told);
    CHECK(ec == errc::unsupported && what([] { load("nonsense:"); }) == told);
    CHECK(told.find("nonsense") != told.npos);
    CHECK(limit(1ns).ms() == 1 && limit(-1h).ms() == 0 && forever.ms() < 0);
    CHECK(limit(std::chrono::hours::max()).ms() < 0);
    CHECK(limit(std::chrono::duration<double>(0.0015)).ms() == 2);
}

/* Neither the library nor the waiting call notices what a callback throws. */
static void a_callback_throws()
{
    std::atomic<int> caught{ 0 }, called{ 0 };
    options          wishes;

    wishes.on_state = [&](handle lock, lock_state state, std::error_code) {
        called++;
        throw std::runtime_error(lock.name() + std::to_string(static_cast<int>(state)));
    };
    wishes.on_ask = [](handle, std::string_view reason) {
        throw std::out_of_range(std::string(reason));
    };
    wishes.on_exception = [&](std::exception_ptr exception) {
        try {
            std::rethrow_exception(exception);
        } catch (const std::out_of_range &error) {
            caught += std::string(error.what()) == "please" ? 100 : 1000;
        } catch (const std::runtime_error &) {
            caught++;
        }
    };
    client          mine(url, wishes), other(url);
    holdfast::mutex lock(mine, "throws");
    guard           hold(lock, ENOUGH);

    CHECK(other.ask("throws", "please", ENOUGH) == 1);
    CHECK(soon([&] { return caught >= 100; }));
    std::string reason;
    CHECK(hold.asked(&reason) && reason == "please");
    hold.release();
    CHECK(soon([&] { return called >= 3 && caught == called + 100; }));
    CHECK(throws<error>([&] { other.ask("throws", "nobody holds it", ENOUGH); }));
}

static void looking_at_lines()
{
    options wishes;
    wishes.note = "a note";
    client          mine(url, wishes), other(url);
    holdfast::mutex lock(mine, "line"), rival(other, "line");

    CHECK(mine.inspect("line", ENOUGH).empty());
    guard  hold(lock, ENOUGH);
    report before = other.inspect("line", ENOUGH);
    CHECK(before.size() == 1 && before[0].held && before[0].kind == "mutex");
    CHECK(before[0].token == hold.token() && before[0].note == "a note");
    CHECK(before[0].since < std::chrono::system_clock::now() + 1min);
    rival.acquire_start();
    report after = other.watch("line", before, ENOUGH);
    int    held = 0;
    for (const entry &one : after)
        held += one.held;
    CHECK(after.size() == 2 && held == 1 && before.size() == 1);
    CHECK(!other.inspect(ENOUGH).empty()); /* all lines */
    other.verify("line", hold.token(), ENOUGH);
    CHECK(throws<lock_lost>([&] { other.verify("line", hold.token() + 1, ENOUGH); }));
    std::error_code ec;
    other.break_place("line", hold.token() + 99, ENOUGH, ec);
    CHECK(ec == errc::not_found);
    CHECK(!other.doctor("line", ENOUGH).empty() && !mine.where().empty());
    hold.release();
    CHECK(soon([&] { return rival.state() == lock_state::held; }));
    CHECK(rival.stats().acquired == 1);
}

static void a_key_is_executed()
{
    client          mine(url), other(url);
    holdfast::mutex lock(mine, "will"), rival(other, "will");

    lock.acquire(ENOUGH);
    const std::vector<unsigned char> key = mine.session_key();
    CHECK(!key.empty());
    end_session(key, ENOUGH);
    CHECK(rival.try_lock_for(ENOUGH));
    CHECK(throws<lock_lost>([&] { lock.release(); }));
}

static void an_election()
{
    client                     mine(url), other(url);
    std::atomic<std::uint64_t> first{ 0 }, second{ 0 };
    std::atomic<int>           leaders{ 0 };
    election_options           wishes;

    wishes.elected = [&](std::uint64_t token) { first = token; };
    wishes.leader = [&](const entry *leader) { leaders += leader != nullptr; };
    election one(mine, "crown", wishes);
    CHECK(soon([&] { return first > 0 && one.leads(); }));
    wishes.elected = [&](std::uint64_t token) { second = token; };
    wishes.leader = nullptr;
    election two(other, "crown", wishes);
    CHECK(soon([&] { return two.list(ENOUGH).size() == 2; }));
    CHECK(!two.leads() && one.lock().token() == first);
    election moved(std::move(one));
    moved.resign();
    CHECK(soon([&] { return second > first && two.leads(); }));
    CHECK(soon([&] { return leaders > 0; }));
    CHECK(!moved.leads());
    std::error_code ec;
    moved.join(ec);
    CHECK(!ec);
}

static void a_file_is_fenced()
{
    const char       *temporary = std::getenv("TMPDIR");
    const std::string path = std::string(temporary ? temporary : "/tmp") + "/hf-fenced." +
                             std::to_string(::getpid());
    std::error_code ec;
    std::string     message;

    {
        file_fence fence(path, 7);
        CHECK(fence && throws<busy>([&] { file_fence(path, 8, once); }));
        file_fence moved(std::move(fence));
        CHECK(!fence && moved && throws<timed_out>([&] { file_fence(path, 8, 10ms); }));
        moved.release();
        CHECK(!moved && file_fence(path, 8, once));
    }
    CHECK(throws<lock_lost>([&] { file_fence(path, 7); }));
    file_fence late(path, 7, once, ec, &message);
    CHECK(!late && ec == errc::lost && message.find("token 8") != std::string::npos);
    CHECK(throws<error>([&] { file_fence(std::string("a\0b", 3), 7); }));
    std::remove((path + ".fence").c_str());
    std::remove((path + ".fence.lock").c_str());
}

int main(int argc, char **argv)
{
    const test_case cases[] = {
        { "a lost lock is told by release()", a_lost_lock_is_told_by_release },
        { "a lock is lost while another exception is under way",
          a_lock_is_lost_while_another_exception_is_under_way },
        { "work under a lock", work_under_a_lock },
        { "why it was not acquired", why_it_was_not_acquired },
        { "what makes no sense", what_makes_no_sense },
        { "a callback throws", a_callback_throws },
        { "looking at lines", looking_at_lines },
        { "a session key is executed", a_key_is_executed },
        { "an election", an_election },
        { "a file is fenced", a_file_is_fenced },
    };

    return run(argc, argv, cases);
}
