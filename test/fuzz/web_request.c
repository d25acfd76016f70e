/* web_request.c - anything as the bytes that a browser, or anybody else, sends to
 * holdfast-web: request lines, headers, bodies.  The requests of one input come on one
 * connection.  Without the token nothing but the page itself is answered. */
#include "fuzz/fuzz.h"

#include "web/serve.h"
#include "web/stream.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TOKEN  "the-token-of-the-fuzzer"
#define ROUNDS 20

static struct site        site;
static struct sockaddr_un at = { .sun_family = AF_UNIX };
static char               path[64];

static void stop_serving(void)
{
    streams_end(&site);
    MHD_run(site.pages);
    MHD_stop_daemon(site.pages);
    feed_finish(&site.feed);
    monitor_close(&site.monitor);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
}

static void start_serving(void)
{
    char error[256] = "";
    int  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    strcpy(path, "/dev/shm/hf-fuzz-XXXXXX");
    assert(mkdtemp(path) != NULL && fd >= 0);
    strcat(path, "/web");
    strcpy(at.sun_path, path);
    assert(bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 64) == 0);
    assert(monitor_open(&site.monitor, "memory:fuzz", 100, error, sizeof error) == 0);
    assert(auth_init(&site.auth, TOKEN) && feed_init(&site.feed));
    site.options.allow_ask = site.options.allow_break = true;
    site.pages = serve_pages(&site, fd);
    assert(site.pages != NULL);
    atexit(stop_serving);
}

/* The first answer; its size. */
static size_t talk(const uint8_t *bytes, size_t size, char *answer, size_t room)
{
    int    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t used = 0;

    assert(fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0);
    (void)!send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < ROUNDS && used < room; i++) {
        monitor_process(&site.monitor);
        MHD_run(site.pages);
        ssize_t n = recv(fd, answer + used, room - used, MSG_DONTWAIT);
        used += n > 0 ? (size_t)n : 0;
        if (n == 0)
            break;
    }
    close(fd);
    MHD_run(site.pages); /* it notices */
    return used;
}

/* Every answer has the headers that keep a browser from doing harm.  MHD's own, about
 * what is no HTTP, have not.  Only the first answer is looked at. */
static void check_answer(const uint8_t *bytes, size_t size, char *answer, size_t used)
{
    bool admitted = memmem(bytes, size, TOKEN, strlen(TOKEN)) != NULL;

    if (used == 0)
        return;
    assert(used > 12 && strncmp(answer, "HTTP/1.", 7) == 0);
    char *end = strstr(answer, "\r\n\r\n");
    if (end != NULL)
        *end = '\0';
    bool good = strncmp(answer + 8, " 200", 4) == 0;
    assert(!good || strstr(answer, "\r\nContent-Security-Policy: default-src 'none'"));
    assert(!good || strstr(answer, "\r\nX-Content-Type-Options: nosniff"));
    if (good && !admitted) { /* then it was the page, which is the same for all */
        assert(strstr(answer, "\r\nContent-Type: application/json") == NULL);
        assert(strstr(answer, "\r\nContent-Type: text/plain") == NULL);
        assert(strstr(answer, "\r\nContent-Type: text/event-stream") == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char answer[256 * 1024];

    if (site.pages == NULL)
        start_serving();
    size_t used = talk(bytes, size, answer, sizeof answer - 1);
    answer[used] = '\0';
    check_answer(bytes, size, answer, used);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_run(argc, argv, __FILE__, 1000);
}
#endif
