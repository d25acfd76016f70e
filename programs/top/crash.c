/* crash.c - see crash.h. */
#include "crash.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
#define CRASHES (sizeof crashes / sizeof *crashes)

static struct {
    int                   fd;
    bool                  known;
    struct termios        before;
    char                  text[256];
    size_t                used;
    volatile sig_atomic_t armed;
} crash;

void crash_prepare(int fd)
{
    crash.fd = fd;
    crash.known = tcgetattr(fd, &crash.before) == 0;
}

static void on_crash(int number)
{
    if (crash.armed) {
        ssize_t n = write(STDOUT_FILENO, crash.text, crash.used);
        (void)n;
        if (crash.known)
            tcsetattr(crash.fd, TCSANOW, &crash.before);
    }
    raise(number); /* SA_RESETHAND: now with its default action */
}

/* Skips the delays in terminfo strings, "$<5>". */
static void add_text(const char *text)
{
    while (text != NULL && *text != '\0' && crash.used < sizeof crash.text) {
        const char *end = text[0] == '$' && text[1] == '<' ? strchr(text, '>') : NULL;
        if (end != NULL)
            text = end + 1;
        else
            crash.text[crash.used++] = *text++;
    }
}

void crash_arm(const char *plain, const char *cursor, const char *keypad,
               const char *screen)
{
    struct sigaction act = { .sa_handler = on_crash,
                             .sa_flags = (int)(SA_RESETHAND | SA_NODEFER) };
    struct sigaction before;

    add_text(plain);
    add_text(cursor);
    add_text(keypad);
    add_text(screen);
    crash.armed = 1;
    for (size_t i = 0; i < CRASHES; i++)
        if (sigaction(crashes[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(crashes[i], &act, NULL);
}

void crash_disarm(void)
{
    crash.armed = 0;
}
