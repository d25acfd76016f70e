/* tls_renewed.c - certificates and keys that are replaced while streams come and go. */
#include "lib/net/certs.h"
#include "net/secure.h"
#include "net/stream.h"
#include "net/tls.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

struct authority {
    struct cert ca, server, client;
};

static struct authority old, new;
static char             ca_file[300], client_file[300];

static void make(struct authority *authority)
{
    cert_make(&authority->ca, NULL, NULL, -DAY, DAY);
    cert_make(&authority->server, &authority->ca, "DNS:localhost", -DAY, DAY);
    cert_make(&authority->client, &authority->ca, "DNS:client", -DAY, DAY);
}

static int make_all(void **state)
{
    char errmsg[200];

    (void)state;
    make(&old);
    make(&new);
    return hf_tls_load("test", errmsg, sizeof errmsg);
}

static int free_all(void **state)
{
    struct authority *both[] = { &old, &new };

    (void)state;
    for (int i = 0; i < 2; i++) {
        cert_free(&both[i]->ca);
        cert_free(&both[i]->server);
        cert_free(&both[i]->client);
    }
    return 0;
}

static void replace(const struct cert *cert, bool with_key, const char *path)
{
    char fresh[300];

    cert_write(cert, "fresh", true, with_key, NULL, fresh, sizeof fresh);
    assert_int_equal(rename(fresh, path), 0);
}

static struct hf_tls *tls_of_files(void)
{
    const struct hf_tls_options options = { .ca = ca_file, .cert = client_file };
    struct hf_tls              *tls;
    char                        errmsg[200];

    cert_write(&old.ca, "ca", true, false, NULL, ca_file, sizeof ca_file);
    cert_write(&old.client, "client", true, true, NULL, client_file, sizeof client_file);
    assert_int_equal(hf_tls_new(&options, errmsg, sizeof errmsg, &tls), 0);
    return tls;
}

static void finish(struct hf_tls *tls)
{
    hf_tls_free(tls);
    unlink(ca_file);
    unlink(client_file);
}

/* Connect to a server with this certificate, which wants one of clients. */
static void connect_to(struct hf_tls *tls, const struct authority *server,
                       const struct authority *clients, const char *refusal)
{
    struct tls_peer  peer = { .cert = &server->server,
                              .client_ca = &clients->ca,
                              .version = TLS1_2_VERSION };
    struct hf_stream stream;

    tls_peer_start(&peer);
    hf_stream_open(&stream, (const struct sockaddr *)&peer.peer.at, peer.peer.length, tls,
                   "localhost");
    stream_settle(&stream);
    if (refusal != NULL && strstr(stream.errmsg, refusal) == NULL)
        fail_msg("\"%s\" has no \"%s\"", stream.errmsg, refusal);
    if (refusal == NULL && stream.state != HF_STREAM_OPEN)
        fail_msg("%s", stream.errmsg);
    hf_stream_close(&stream);
    tls_peer_finish(&peer);
}

static void test_files_are_read_for_each_stream(void **state)
{
    struct hf_tls *tls = tls_of_files();

    (void)state;
    connect_to(tls, &old, &old, NULL);
    connect_to(tls, &new, &old, "the file given by ?ca= does not have its CA");
    replace(&new.ca, false, ca_file);
    connect_to(tls, &new, &old, NULL);
    connect_to(tls, &new, &new, "the server does not accept our certificate");
    replace(&new.client, true, client_file);
    connect_to(tls, &new, &new, NULL);
    finish(tls);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* All of them are of one time: a new CA is not used beside a key that cannot be read. */
static void test_a_file_that_cannot_be_used_changes_nothing(void **state)
{
    struct hf_tls *tls = tls_of_files();

    (void)state;
    unlink(ca_file);
    connect_to(tls, &old, &old, NULL);
    connect_to(tls, &new, &old, "No such file or directory)");
    write_text(ca_file, "half of a certif");
    connect_to(tls, &old, &old, NULL);
    replace(&new.ca, false, ca_file);
    replace(&new.client, false, client_file); /* without its key */
    connect_to(tls, &old, &old, NULL);
    replace(&new.client, true, client_file);
    connect_to(tls, &new, &new, NULL);
    finish(tls);
}

static int lowest = 99;

/* Instead of libc's: which numbers do our files get? */
FILE *fopen(const char *path, const char *mode)
{
    int flags = mode[0] == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);

    if (fd >= 0 && fd < lowest)
        lowest = fd;
    return fd < 0 ? NULL : fdopen(fd, mode);
}

/* Another thread of a program that has closed its stdin must not read our key there. */
static void test_no_file_gets_a_low_number(void **state)
{
    struct hf_tls *tls = tls_of_files();
    int            kept = dup(STDIN_FILENO);

    (void)state;
    close(STDIN_FILENO);
    lowest = 99;
    hf_tls_reread(tls);
    dup2(kept, STDIN_FILENO);
    close(kept);
    assert_in_range(lowest, 3, 98);
    finish(tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_read_for_each_stream),
        cmocka_unit_test(test_a_file_that_cannot_be_used_changes_nothing),
        cmocka_unit_test(test_no_file_gets_a_low_number),
    };

    return cmocka_run_group_tests(tests, make_all, free_all);
}
