/* main.c - holdfast: locks shared by many processes, from the shell. */
#include "cli_options.h"
#include "complain.h"
#include "store_url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* If stdin, stdout or stderr is closed, a socket of ours must not take its
 * place: the command would inherit it.  Close-on-exec, so that it still finds
 * it closed. */
static void occupy_stdio(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
            exit(EXIT_INTERNAL);
}

int main(int argc, char **argv)
{
    struct args args;

    occupy_stdio();
    url_hide_secrets();
    int code = args_parse(argc, argv, &args);
    if (code != 0)
        return code;
    if (args.help)
        help_print(args.verb);
    else
        code = args.verb->run(&args);
    args_finish(&args);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain("cannot write to stdout");
        return code != 0 ? code : EXIT_INTERNAL;
    }
    return code;
}
