/* fence.c - fence: claim a file with a token, and run a command while it is fenced.
 *
 * The command replaces this process and inherits the descriptor that has the fence, as
 * with flock(1): the fence cannot go before the command and what it started has ended.
 */
#include "cli_options.h"

#include "complain.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SILENT_MS 1000 /* after that it says that it waits */

static int choose_token(const struct args *args, uint64_t *ret)
{
    const char *handed_down = getenv("HOLDFAST_TOKEN");

    *ret = args->token;
    if (args->token != 0)
        return 0;
    if (handed_down == NULL) {
        complain("fence: this does not run under `holdfast run`; give a token with "
                 "--token");
        return EXIT_USAGE;
    }
    if (!text_parse_number(handed_down, 1, UINT64_MAX, ret)) {
        complain("fence: HOLDFAST_TOKEN is not the token of a lock; give one with "
                 "--token");
        return EXIT_USAGE;
    }
    return 0;
}

/* Returns a descriptor, or a code of the library. */
static int close_gate(const struct args *args, uint64_t token, char *error, size_t size)
{
    const char *path = args->operand[0];
    bool        is_short = args->wait_ms >= 0 && args->wait_ms <= SILENT_MS;

    int r = hf_fence_file(path, token, is_short ? args->wait_ms : SILENT_MS, error, size);
    if (is_short || r != HF_ETIMEOUT)
        return r;
    complain("waiting: another process is at work on %s", path);
    int64_t left = args->wait_ms < 0 ? -1 : args->wait_ms - SILENT_MS;
    return hf_fence_file(path, token, left, error, size);
}

/* A number that scripts do not use: see hand_down() in guard/child.c. */
static int keep_open(int fd)
{
    int kept = fcntl(fd, F_DUPFD, 700);

    if (kept < 0 && (errno == EINVAL || errno == EMFILE))
        kept = fcntl(fd, F_DUPFD, 10);
    return kept;
}

static int become(char **command, int fence)
{
    if (keep_open(fence) < 0)
        return complain_errno("cannot hand the fence down");
    execvp(command[0], command);
    int code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    complain("cannot run %s: %s", command[0], strerror(errno));
    return code;
}

int fence_main(const struct args *args)
{
    char     error[512] = "";
    uint64_t token;

    int code = choose_token(args, &token);
    if (code != 0)
        return code;
    int fence = close_gate(args, token, error, sizeof error);
    if (fence < 0) {
        complain("%s", *error != '\0' ? error : hf_strerror(fence));
        return exit_for(fence);
    }
    if (args->command != NULL)
        code = become(args->command, fence);
    close(fence);
    return code;
}
