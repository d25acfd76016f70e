/* transfer.cpp - two locks as one: money goes both ways, and none is lost.
 *
 *     c++ -std=c++17 -o transfer transfer.cpp $(pkg-config --cflags --libs holdfast) -pthread
 *     ./transfer [STORE-URL]
 *
 * prints
 *
 *     40 transfers, 200 in all
 */
#include <holdfast.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

using namespace std::chrono_literals;

static constexpr int TRANSFERS = 20;

static int              ana = 100, bob = 100; /* each protected by the lock of its name */
static std::atomic<int> failures;

/* Locks of both accounts.  std::scoped_lock of two mutexes would do, too, but it tries and
 * gives back until it happens to have both; all_of queues. */
static void transfer(const std::string &url, int &from, int &to, const char *first,
                     const char *second)
{
    holdfast::client client(url);
    holdfast::all_of both(client, { first, second });

    for (int i = 0; i < TRANSFERS; i++)
        holdfast::with_lock(both, 30s, [&](holdfast::guard &hold) {
            hold.ensure_held(); /* before every step that matters, never in its middle */
            from--;
            to++;
        }); /* throws lock_lost if it was not ours to the end */
}

/* A thread that reports its failure. */
template <class Work> static std::thread start(Work work)
{
    return std::thread([work] {
        try {
            work();
        } catch (const std::exception &error) {
            std::fprintf(stderr, "transfer: %s\n", error.what());
            failures++;
        }
    });
}

int main(int argc, char **argv)
{
    const std::string url = argc > 1 ? argv[1] : "";
    std::thread       there = start([&] { transfer(url, ana, bob, "ana", "bob"); });
    std::thread       back = start([&] { transfer(url, bob, ana, "bob", "ana"); });

    there.join();
    back.join();
    if (failures > 0)
        return 1;
    std::printf("%d transfers, %d in all\n", 2 * TRANSFERS, ana + bob);
    return 0;
}
