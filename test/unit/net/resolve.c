/* resolve.c - looking hosts up.  Run without arguments.
 *
 * getaddrinfo() is the system's, wrapped: a look-up of a name that begins with "slow"
 * blocks until the test lets it go on.
 */
#include "net/resolve.h"

#include "holdfast.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 16

static sem_t       arrived, gate;
static atomic_bool open_to_signals; /* a look-up ran in a thread that takes signals */

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    sigset_t blocked;

    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (hints->ai_flags & AI_NUMERICHOST)
        return real(host, port, hints, ret);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (!sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGPIPE))
        atomic_store(&open_to_signals, true);
    if (strncmp(host, "slow", 4) == 0) {
        sem_post(&arrived);
        sem_wait(&gate);
        host = "localhost";
    }
    return real(host, port, hints, ret);
}

static struct hf_resolve *start(const char *host)
{
    struct hf_resolve *resolve;

    assert_int_equal(hf_resolve_new(host, "2181", &resolve), 0);
    return resolve;
}

/* Wait for the end of a look-up; the number of addresses. */
static int await(struct hf_resolve *resolve, struct hf_address *ret)
{
    struct pollfd poller = { .fd = hf_resolve_fd(resolve), .events = POLLIN };

    assert_true(poller.fd >= 0);
    assert_int_equal(poll(&poller, 1, 10000), 1);
    assert_true(poller.revents & POLLIN);
    return hf_resolve_get(resolve, ret, HF_RESOLVE_MAX);
}

/* Read the list of threads: how many are ours.  Sets "seen" to the number of all. */
static int look_at_threads(int *seen)
{
    DIR           *folder = opendir("/proc/self/task");
    struct dirent *entry;
    int            count = 0;

    assert_non_null(folder);
    *seen = 0;
    while ((entry = readdir(folder)) != NULL) {
        char  path[300], name[20] = "";
        FILE *file;

        *seen += entry->d_name[0] != '.';
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        file = fopen(path, "re");
        if (file == NULL)
            continue;
        count += fgets(name, sizeof name, file) && strcmp(name, "holdfast-lookup\n") == 0;
        fclose(file);
    }
    closedir(folder);
    return count;
}

static int count_all(void)
{
    struct stat folder;

    assert_int_equal(stat("/proc/self/task", &folder), 0);
    return (int)folder.st_nlink - 2;
}

/* While threads end, a read of the folder may miss others: read again. */
static int count_threads(void)
{
    for (int i = 0; i < 10000; i++) {
        int before = count_all(), seen, count = look_at_threads(&seen);

        if (seen == before && count_all() == before)
            return count;
    }
    fail_msg("the threads never stay the same for long enough to count them");
    return -1;
}

/* Wait until our threads have ended. */
static void await_alone(void)
{
    for (int i = 0; i < 10000 && count_threads() > 0; i++)
        poll(NULL, 0, 1);
    assert_int_equal(count_threads(), 0);
}

static void test_numeric_addresses_need_no_look_up(void **state)
{
    struct hf_address          found[HF_RESOLVE_MAX];
    struct hf_resolve         *resolve = start("127.0.0.1");
    const struct sockaddr_in  *four = (struct sockaddr_in *)&found[0].at;
    const struct sockaddr_in6 *six = (struct sockaddr_in6 *)&found[0].at;

    (void)state;
    assert_int_equal(hf_resolve_fd(resolve), -1);
    assert_int_equal(hf_resolve_get(resolve, found, HF_RESOLVE_MAX), 1);
    assert_int_equal(found[0].length, sizeof *four);
    assert_int_equal(four->sin_family, AF_INET);
    assert_int_equal(four->sin_port, htons(2181));
    assert_int_equal(four->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    hf_resolve_free(resolve);

    resolve = start("::1");
    assert_int_equal(hf_resolve_fd(resolve), -1);
    assert_int_equal(hf_resolve_get(resolve, found, HF_RESOLVE_MAX), 1);
    assert_int_equal(found[0].length, sizeof *six);
    assert_int_equal(six->sin6_family, AF_INET6);
    assert_memory_equal(&six->sin6_addr, &in6addr_loopback, sizeof six->sin6_addr);
    hf_resolve_free(resolve);
    hf_resolve_free(NULL);
}

static void test_a_name_is_looked_up(void **state)
{
    struct hf_address  found[HF_RESOLVE_MAX];
    struct hf_resolve *resolve = start("localhost");

    (void)state;
    assert_true(fcntl(hf_resolve_fd(resolve), F_GETFD) & FD_CLOEXEC);
    assert_true(await(resolve, found) > 0);
    assert_true(found[0].length > 0);
    assert_string_equal(hf_resolve_error(resolve), "");
    assert_int_equal(hf_resolve_get(resolve, found, 1), 1);
    hf_resolve_free(resolve);
    assert_false(open_to_signals);
    await_alone();
}

/* Its label is too long for any name, so no server is asked. */
#define NO_HOST "a-name-of-no-host-since-it-is-longer-than-the-63-bytes-of-a-label"

static void test_an_unknown_name(void **state)
{
    struct hf_address  found[HF_RESOLVE_MAX];
    struct hf_resolve *resolve = start(NO_HOST);

    (void)state;
    assert_int_equal(await(resolve, found), HF_EDOWN);
    assert_true(strlen(hf_resolve_error(resolve)) > 0);
    hf_resolve_free(resolve);
    await_alone();
}

static void test_a_slow_look_up_does_not_block(void **state)
{
    struct hf_address  found[HF_RESOLVE_MAX];
    struct hf_resolve *resolve = start("slow");
    struct pollfd      poller = { .fd = hf_resolve_fd(resolve), .events = POLLIN };

    (void)state;
    sem_wait(&arrived);
    assert_int_equal(count_threads(), 1);
    assert_int_equal(hf_resolve_get(resolve, found, HF_RESOLVE_MAX), 0);
    assert_string_equal(hf_resolve_error(resolve), "");
    assert_int_equal(poll(&poller, 1, 0), 0);
    sem_post(&gate);
    assert_true(await(resolve, found) > 0);
    hf_resolve_free(resolve);
    await_alone();
}

static void test_an_abandoned_look_up_ends_by_itself(void **state)
{
    struct hf_resolve *resolve[MANY];
    struct epoll_event event = { .events = EPOLLIN };
    int                set = epoll_create1(EPOLL_CLOEXEC);

    (void)state;
    for (int i = 0; i < MANY; i++) {
        resolve[i] = start("slow");
        assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, hf_resolve_fd(resolve[i]), &event),
                         0);
    }
    for (int i = 0; i < MANY / 2; i++)
        hf_resolve_free(resolve[i]); /* some before their thread has begun */
    for (int i = 0; i < MANY; i++) {
        sem_wait(&arrived);
        sem_post(&gate);
    }
    for (int i = MANY / 2; i < MANY; i++)
        hf_resolve_free(resolve[i]); /* some as they end */
    await_alone();
    assert_int_equal(epoll_wait(set, &event, 1, 0),
                     0); /* its descriptors have left the set */
    close(set);
}

static int child_frees(struct hf_resolve *resolve)
{
    struct hf_address found;
    int               fd = hf_resolve_fd(resolve);

    if (fcntl(fd, F_GETFD) >= 0)
        return 1;
    if (dup2(STDERR_FILENO, fd) != fd) /* the number may be reused by now */
        return 2;
    if (hf_resolve_get(resolve, &found, 1) != 0)
        return 3;
    hf_resolve_free(resolve);
    return fcntl(fd, F_GETFD) >= 0 ? 0 : 4;
}

static void test_a_forked_child_does_not_wait_for_it(void **state)
{
    struct hf_address  found[HF_RESOLVE_MAX];
    struct hf_resolve *resolve = start("slow");
    int                status;
    pid_t              pid;

    (void)state;
    sem_wait(&arrived);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(10);
        _exit(child_frees(resolve));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    sem_post(&gate);
    assert_true(await(resolve, found) > 0);
    hf_resolve_free(resolve);
    await_alone();
}

static void test_no_descriptor_is_left(void **state)
{
    struct rlimit      before, none;
    struct hf_address  found;
    struct hf_resolve *resolve;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    resolve = start("localhost");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(hf_resolve_fd(resolve), -1);
    assert_int_equal(hf_resolve_get(resolve, &found, 1), HF_EDOWN);
    assert_string_equal(hf_resolve_error(resolve), "Too many open files");
    hf_resolve_free(resolve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numeric_addresses_need_no_look_up),
        cmocka_unit_test(test_a_name_is_looked_up),
        cmocka_unit_test(test_an_unknown_name),
        cmocka_unit_test(test_a_slow_look_up_does_not_block),
        cmocka_unit_test(test_an_abandoned_look_up_ends_by_itself),
        cmocka_unit_test(test_a_forked_child_does_not_wait_for_it),
        cmocka_unit_test(test_no_descriptor_is_left),
    };

    sem_init(&arrived, 0, 0);
    sem_init(&gate, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
