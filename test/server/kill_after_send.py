"""kill_after_send - kill a program right after it has sent something: the server has it, and the
program has done nothing else yet.

    run(env=kill_after_send.after(folder, "words"))   SIGKILL after the first send() with these words
"""
import pathlib
import shutil
import subprocess

import server_process

SOURCE = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t send(int fd, const void *data, size_t size, int flags)
{
    const char *words = getenv("HF_FATAL");
    ssize_t     n = syscall(SYS_sendto, fd, data, size, flags, NULL, 0);

    if (n > 0 && words != NULL && memmem(data, (size_t)n, words, strlen(words)) != NULL)
        kill(getpid(), SIGKILL);
    return n;
}
"""


def after(folder, words):
    if shutil.which("cc") is None:
        raise server_process.Missing("no cc here")
    library = pathlib.Path(folder) / "kill_after_send.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(library)],
                   input=SOURCE, text=True, check=True)
    return {"LD_PRELOAD": str(library), "HF_FATAL": words, "ASAN_OPTIONS": "verify_asan_link_order=0"}
