/* check.hpp - common ground of the C++ tests.
 *
 * A program is a list of cases, run on the store whose URL is argv[1].  A case fails by an
 * exception; CHECK() throws one.  Results are told as TAP.
 */
#ifndef HF_TEST_CXX_CHECK_HPP
#define HF_TEST_CXX_CHECK_HPP

#include <holdfast.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

using namespace std::chrono_literals;

/* For what must be done, on a busy machine too. */
constexpr auto ENOUGH = 20s;

/* For what must not happen.  A store that is connected answers in less, also then. */
constexpr auto A_WHILE = 500ms;

#define CHECK(what)                                                                  \
    do {                                                                             \
        if (!(what))                                                                 \
            throw std::logic_error("line " + std::to_string(__LINE__) + ": " #what); \
    } while (0)

/* `call` throws a `Kind`, and the message is not empty. */
template <class Kind, class Call> bool throws(const Call &call)
{
    try {
        call();
    } catch (const Kind &error) {
        return error.what()[0] != '\0';
    }
    return false;
}

/* What the exception says that `call` throws. */
template <class Call> std::string what(const Call &call)
{
    try {
        call();
    } catch (const std::exception &error) {
        return error.what();
    }
    return "";
}

/* Is it so, soon? */
template <class Happened> bool soon(const Happened &happened)
{
    const auto end = std::chrono::steady_clock::now() + ENOUGH;

    while (!happened() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(1ms);
    return happened();
}

/* The store under test; set by run(). */
inline std::string url;

/* Somebody takes the place of `lock` away, and its owner has heard of it. */
inline bool take_away(const holdfast::handle &lock)
{
    const holdfast::client admin(url);

    admin.break_place(lock.name(), lock.token(), ENOUGH);
    return soon([&] { return lock.state() == holdfast::lock_state::lost; });
}

struct test_case {
    const char *name;
    void (*run)();
};

template <std::size_t Count>
int run(int argc, char **argv, const test_case (&cases)[Count])
{
    std::size_t failed = 0, number = 0;

    if (argc < 2) {
        std::fprintf(stderr, "usage: %s STORE-URL\n", argv[0]);
        return 2;
    }
    url = argv[1];
    std::printf("1..%zu\n", Count);
    for (const test_case &one : cases) {
        std::string fault;
        try {
            one.run();
        } catch (const std::exception &error) {
            fault = error.what();
        }
        failed += !fault.empty();
        std::printf("%s %zu - %s\n", fault.empty() ? "ok" : "not ok", ++number, one.name);
        if (!fault.empty())
            std::printf("# %s\n", fault.c_str());
        std::fflush(stdout);
    }
    return failed > 0;
}

#endif
