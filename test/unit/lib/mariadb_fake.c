/* mariadb_fake.c - see mariadb_fake.h. */
#include "unit/lib/mariadb_fake.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

struct mariadb_rig fake_rig;
unsigned char      fake_said[4096], fake_said_number;
size_t             fake_said_size;

static int listener = -1, fd = -1;

static void accept_it(void)
{
    struct pollfd poller = { .fd = listener, .events = POLLIN };

    for (int i = 0; i < 1000 && poll(&poller, 1, 0) == 0; i++)
        mariadb_rig_run(&fake_rig, 10);
    fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
}

void fake_dial_tcp(const char *password, struct hf_tls *tls)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          length = sizeof at;
    char               port[8];

    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    snprintf(port, sizeof port, "%u", ntohs(at.sin_port));
    mariadb_rig_open(&fake_rig, "127.0.0.1", port, "ana", password, tls);
    accept_it();
}

void fake_dial_path(const char *password)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };

    snprintf(at.sun_path, sizeof at.sun_path, "%s/my.XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    close(mkstemp(at.sun_path));
    unlink(at.sun_path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 4), 0);
    mariadb_rig_open(&fake_rig, at.sun_path, NULL, "ana", password, NULL);
    accept_it();
    unlink(at.sun_path);
}

void fake_close(void)
{
    mariadb_rig_close(&fake_rig);
    close(fd);
    close(listener);
    fd = listener = -1;
}

void fake_say_raw(const void *bytes, size_t size)
{
    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

void fake_say(unsigned char number, const void *bytes, size_t size)
{
    unsigned char packet[4096];

    assert_true(size + 4 <= sizeof packet);
    hf_my_put(packet, size, 3);
    packet[3] = number;
    memcpy(packet + 4, bytes, size);
    fake_say_raw(packet, size + 4);
}

void fake_settle(unsigned effects)
{
    for (int i = 0; i < 500; i++) {
        if (fake_rig.answers + fake_rig.breaks + fake_rig.logins + fake_rig.overs >=
            effects)
            return;
        mariadb_rig_run(&fake_rig, 10);
    }
    fail_msg("nothing happened: %s", fake_rig.store.errmsg);
}

bool fake_hear(void)
{
    struct pollfd poller = { .fd = fd, .events = POLLIN };
    unsigned char head[4];

    for (int i = 0; i < 50 && poll(&poller, 1, 0) == 0; i++)
        mariadb_rig_run(&fake_rig, 10);
    if (poll(&poller, 1, 0) == 0 || recv(fd, head, 4, MSG_WAITALL) != 4)
        return false;
    fake_said_size = head[0] | (size_t)head[1] << 8;
    fake_said_number = head[3];
    assert_true(fake_said_size <= sizeof fake_said);
    if (fake_said_size > 0)
        assert_int_equal(recv(fd, fake_said, fake_said_size, MSG_WAITALL),
                         fake_said_size);
    return true;
}

size_t fake_write_greeting(unsigned char *at, uint32_t capabilities, const char *plugin)
{
    unsigned char *start = at;

    *at++ = 10;
    memcpy(at, "8.0.36-fake", 12);
    at = hf_my_put(at + 12, 4711, 4);
    memcpy(at, FAKE_CHALLENGE, 8);
    at[8] = 0;
    at = hf_my_put(at + 9, capabilities & 0xffff, 2);
    *at++ = 255;
    at = hf_my_put(at, 2, 2);
    at = hf_my_put(at, capabilities >> 16, 2);
    *at++ = 21;
    memset(at, 0, 10);
    memcpy(at + 10, &(FAKE_CHALLENGE "\0")[8], 13);
    at += 23;
    memcpy(at, plugin, strlen(plugin) + 1);
    return (size_t)(at - start) + strlen(plugin) + 1;
}

void fake_greet(uint32_t capabilities, const char *plugin)
{
    unsigned char greeting[200];

    fake_say(0, greeting, fake_write_greeting(greeting, capabilities, plugin));
}

void fake_expect_login(const unsigned char *proof, size_t size, const char *plugin)
{
    assert_true(fake_hear());
    assert_int_equal(fake_said_number, 1);
    struct hf_my_reader reader = hf_my_reader_on(fake_said, fake_said_size);
    uint32_t            capabilities = (uint32_t)hf_my_get(&reader, 4);
    assert_int_equal(capabilities & 0x000ba201, 0x000ba201);
    assert_int_equal(capabilities & 0x01000080, 0); /* no DEPRECATE_EOF, no local files */
    assert_int_equal(hf_my_get(&reader, 4), HF_MY_PACKET_MAX);
    assert_int_equal(hf_my_get(&reader, 1), 45);
    hf_my_get_bytes(&reader, 23);
    assert_string_equal(hf_my_get_string(&reader).data, "ana");
    assert_int_equal(hf_my_get(&reader, 1), size);
    assert_memory_equal(hf_my_get_bytes(&reader, size).data, proof, size);
    assert_string_equal(hf_my_get_string(&reader).data, plugin);
    assert_false(reader.bad);
    assert_int_equal(hf_my_left(&reader), 0);
}

void fake_expect_proof(const void *proof, size_t size, unsigned char number)
{
    assert_true(fake_hear());
    assert_int_equal(fake_said_number, number);
    assert_int_equal(fake_said_size, size);
    assert_memory_equal(fake_said, proof, size);
}

void fake_expect_in(unsigned char number)
{
    FAKE_SAY(number, "\0\0\0\2\0\0\0");
    fake_settle(1);
    assert_int_equal(fake_rig.logins, 1);
    assert_int_equal(fake_rig.conn.dial.phase, HF_DIAL_READY);
    assert_int_equal(fake_rig.conn.thread, 4711);
    assert_string_equal(fake_rig.conn.version, "8.0.36-fake");
    fake_close();
}

void fake_expect_end(int refusal, const char *with)
{
    for (int i = 0; i < 200 && fake_rig.overs == 0; i++)
        mariadb_rig_run(&fake_rig, 10);
    assert_int_equal(fake_rig.overs, 1);
    assert_int_equal(fake_rig.store.refusal, refusal);
    if (strstr(fake_rig.store.errmsg, with) == NULL)
        fail_msg("\"%s\" is not in: %s", with, fake_rig.store.errmsg);
    fake_close();
}
