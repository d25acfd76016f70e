/* slow_reader.c - lines for a reader that is slow, or gone: none is lost, none is torn, and nobody
 * ever waits. */
#include "cli/run/line_writer.c"
#include "view/clock.c"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>

#include <cmocka.h>

struct fixture {
    struct line_writer writer;
    int                reader;
};

/* A descriptor as another program would hand it to us: without FD_CLOEXEC. */
static void begin(struct fixture *f, bool is_socket)
{
    int ends[2];

    assert_int_equal(is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends)
                               : pipe2(ends, 0),
                     0);
    f->reader = ends[0];
    if (!is_socket)
        assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) >= 4096);
    assert_int_equal(writer_open(&f->writer, ends[1]), 0);
}

static void finish(struct fixture *f)
{
    writer_close(&f->writer);
    close(f->reader);
}

/* A line of 100 bytes that begins with this number. */
static bool put(struct fixture *f, int number, unsigned kind)
{
    char *text;
    int   length = asprintf(&text, "%-99d\n", number);

    assert_int_equal(length, 100);
    return writer_put(&f->writer, text, 100, kind);
}

/* Read `count` lines; the writer writes on meanwhile. */
static void take_lines(struct fixture *f, int first, int count)
{
    char   line[101] = "";
    size_t have = 0;

    while (count > 0) {
        ssize_t n = read(f->reader, line + have, 100 - have);
        assert_true(n > 0);
        have += (size_t)n;
        writer_flush(&f->writer);
        if (have < 100)
            continue;
        assert_int_equal(atoi(line), first++);
        assert_int_equal(line[99], '\n');
        have = 0;
        count--;
    }
}

static void keeps_what_does_not_fit(void **state)
{
    struct fixture f;

    (void)state;
    for (int is_socket = 0; is_socket < 2; is_socket++) {
        begin(&f, is_socket);
        for (int i = 0; i < 200; i++)
            assert_true(put(&f, i, 0));
        assert_int_equal(writer_poll(&f.writer).fd,
                         f.writer.count > 0 ? f.writer.fd : -1);
        assert_int_equal(writer_drain(&f.writer, 10), f.writer.count == 0);
        take_lines(&f, 0, 200);
        assert_int_equal(f.writer.count, 0);
        assert_int_equal(writer_poll(&f.writer).fd, -1);
        assert_true(writer_drain(&f.writer, 0));
        finish(&f);
    }
}

static void fill(struct fixture *f)
{
    for (int i = 0; f->writer.count == 0; i++)
        assert_true(put(f, i, 0));
}

static void keeps_the_last_of_a_kind(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, false);
    fill(&f);
    for (int i = 0; i < 1000; i++)
        assert_true(put(&f, i, 1));
    assert_int_equal(f.writer.count, 2);
    assert_true(put(&f, 0, 0) && put(&f, 1000, 1) && put(&f, 1001, 2) &&
                put(&f, 1002, 2));
    assert_int_equal(f.writer.count, 5);
    assert_int_equal(atoi(f.writer.line[1].text), 999);
    assert_int_equal(atoi(f.writer.line[3].text), 1000);
    assert_int_equal(atoi(f.writer.line[4].text), 1002);
    finish(&f);
}

/* A line that is half written must not be replaced. */
static void a_line_is_never_torn(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, true);
    fill(&f);
    f.writer.line[0].kind = 1;
    f.writer.written = 50;
    assert_true(put(&f, 7, 1));
    assert_int_equal(f.writer.count, 2);
    assert_int_equal(f.writer.written, 50);
    finish(&f);
}

static void a_reader_that_never_reads_counts_as_gone(void **state)
{
    struct fixture f;
    int            kept = 0;
    char           rest[4096];

    (void)state;
    begin(&f, false);
    while (put(&f, kept, 0))
        kept++;
    assert_true(kept >= WRITER_LINES);
    assert_int_equal(f.writer.fd, -1);
    while (read(f.reader, rest, sizeof rest) > 0) /* to the end of the file */
        ;
    assert_true(put(&f, 0, 0)); /* it was told once */
    assert_int_equal(writer_poll(&f.writer).fd, -1);
    finish(&f);
}

static void a_reader_that_is_gone(void **state)
{
    struct fixture f;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    for (int is_socket = 0; is_socket < 2; is_socket++) {
        begin(&f, is_socket);
        close(f.reader);
        assert_true(put(&f, 0, 0));
        assert_int_equal(f.writer.fd, -1);
        assert_true(put(&f, 1, 0));
        assert_true(writer_drain(&f.writer, 1000));
        writer_close(&f.writer);
    }
}

static void only_what_can_be_written_to(void **state)
{
    struct line_writer writer;
    int                ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, 0), 0);
    assert_int_equal(writer_open(&writer, ends[0]), -1);
    assert_int_equal(writer_open(&writer, 987), -1);
    assert_int_equal(fcntl(ends[1], F_SETFD, FD_CLOEXEC), 0); /* of ours */
    assert_int_equal(writer_open(&writer, ends[1]), -1);
    assert_int_equal(errno, EBADF);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_does_not_fit),
        cmocka_unit_test(keeps_the_last_of_a_kind),
        cmocka_unit_test(a_line_is_never_torn),
        cmocka_unit_test(a_reader_that_never_reads_counts_as_gone),
        cmocka_unit_test(a_reader_that_is_gone),
        cmocka_unit_test(only_what_can_be_written_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
