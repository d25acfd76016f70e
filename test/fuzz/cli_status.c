/* cli_status.c - anything as the texts in the lines of --status-fd: the name of the lock,
 * reasons of others who ask for it, messages of servers.  Every line must be one object of
 * JSON that a pipe takes as a whole. */
#include "fuzz/fuzz.h"

#include "run/event_line.c"
#include "run/line_writer.c"
#include "run/status.c"
#include "session_deadline.c"

#include "view/json_read.c"

static void check_line(const char *line, size_t size, const char *event)
{
    char time[64], said[32];
    char name[EVENT_NAME_CUT * 3], text[EVENT_TEXT_CUT * 3]; /* U+FFFD has three bytes */
    struct json_member member[] = { { "time", JSON_TEXT, time, sizeof time, false },
                                    { "event", JSON_TEXT, said, sizeof said, false },
                                    { "name", JSON_TEXT, name, sizeof name, false },
                                    { "text", JSON_TEXT, text, sizeof text, false } };

    assert(size > 0 && size <= WRITER_LINE_MAX && line[size - 1] == '\n');
    assert(memchr(line, '\n', size) == line + size - 1);
    for (size_t i = 0; i + 1 < size; i++)
        assert((unsigned char)line[i] >= 0x20 && line[i] != 0x7f);
    if (strcmp(event, "failed") != 0 && strcmp(event, "asked") != 0)
        return;
    char *copy = malloc(size + 1);
    assert(copy != NULL);
    memcpy(copy, line, size);
    copy[size] = '\0';
    assert(json_read(copy, size, member, 4, JSON_SKIPPING, NULL, 0));
    assert(strcmp(said, event) == 0 && strlen(time) == 27);
    free(copy);
}

/* The lines that are in the pipe, in the order of `events`. */
static void check_lines(int fd, const char *const *events, size_t count)
{
    static char text[64 * WRITER_LINE_MAX];
    ssize_t     n = read(fd, text, sizeof text - 1);
    size_t      at = 0;

    assert(n > 0);
    for (size_t i = 0; i < count; i++) {
        const char *end = memchr(text + at, '\n', (size_t)n - at);
        assert(end != NULL);
        size_t size = (size_t)(end - text) - at + 1;
        check_line(text + at, size, events[i]);
        at += size;
    }
    assert(at == (size_t)n);
}

/* The first byte says how much of the rest is the name. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const events[] = { "waiting", "place", "asked", "failed" };
    size_t                   cut = size > 1 ? 1 + bytes[0] % size : 0;
    int                      ends[2];

    if (size == 0)
        return 0;
    char *name = strndup((const char *)bytes + 1, cut > 0 ? cut - 1 : 0);
    char *text = strndup((const char *)bytes + cut, size - cut);
    assert(name != NULL && text != NULL && pipe(ends) == 0);
    struct args args = { .status_fd = ends[1], .operand = { name } };
    assert(status_open(&args) == 0);
    status_waiting();
    status_place(NULL, (int64_t)size, NULL);
    status.held = true;
    status_asked(text);
    status.held = false;
    status_failed(HF_ESTORE, text);
    status_finish();
    check_lines(ends[0], events, 4);
    close(ends[0]);
    free(name);
    free(text);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_run(argc, argv, __FILE__, 5000);
}
#endif
