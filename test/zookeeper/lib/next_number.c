/* next_number.c - see next_number.h.
 *
 * A log is a header of 16 bytes and records: checksum (8 bytes), length (4), the
 * transaction, the letter B.  A transaction begins with 32 bytes about session and time;
 * the last 4 of them are its type.
 */
#include "next_number.h"

#include "witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <endian.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX ((size_t)16 * 1024 * 1024) /* it is created with 1 MB of zeros */

enum { HEAD = 16, WHO = 32, CREATE = 1, CREATE2 = 15 };

static uint32_t load(const unsigned char *from)
{
    uint32_t big;

    memcpy(&big, from, sizeof big);
    return be32toh(big);
}

static void store(unsigned char *to, uint32_t value)
{
    uint32_t big = htobe32(value);

    memcpy(to, &big, sizeof big);
}

static uint32_t adler32(const unsigned char *bytes, size_t size)
{
    uint32_t a = 1, b = 0;

    for (size_t i = 0; i < size; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/* Where the creation of a node says how often its folder has changed: after its path,
 * data, ACL, and whether it is ephemeral. */
static unsigned char *find_version(unsigned char *record)
{
    unsigned char *at = record + WHO;

    at += 4 + load(at);
    at += 4 + (load(at) == UINT32_MAX ? 0 : load(at));
    uint32_t rights = load(at);
    at += 4;
    for (uint32_t i = 0; i < rights; i++) {
        at += 4; /* the permissions */
        at += 4 + load(at);
        at += 4 + load(at);
    }
    return at + 1;
}

static bool patch(unsigned char *log, size_t size, const char *path, uint32_t version)
{
    size_t length = strlen(path);

    for (size_t at = HEAD; at + 12 < size && load(log + at + 8) != 0;) {
        unsigned char *record = log + at + 12;
        uint32_t       bytes = load(log + at + 8);
        uint32_t       what = load(record + WHO - 4);
        if ((what == CREATE || what == CREATE2) && load(record + WHO) == length &&
            memcmp(record + WHO + 4, path, length) == 0) {
            store(find_version(record), version);
            store(log + at, 0);
            store(log + at + 4, adler32(record, bytes));
            return true;
        }
        at += 12 + bytes + 1;
    }
    return false;
}

static bool patch_file(const char *name, const char *path, uint32_t version)
{
    unsigned char *log = malloc(LOG_MAX);
    FILE          *file = fopen(name, "r+b");

    assert_non_null(log);
    assert_non_null(file);
    size_t size = fread(log, 1, LOG_MAX, file);
    assert_true(size > HEAD && size < LOG_MAX);
    bool found = patch(log, size, path, version);
    if (found) {
        rewind(file);
        assert_int_equal(fwrite(log, 1, size, file), size);
    }
    fclose(file);
    free(log);
    return found;
}

void set_next_number(const char *folder, int64_t next)
{
    char   mark[160], pattern[256];
    glob_t found;
    int    patched = 0;

    witness_create(folder);
    snprintf(mark, sizeof mark, "%s/mark", folder);
    assert_int_equal(witness_create(mark), 0);
    assert_int_equal(witness_delete(mark), 0);
    witness_tell("kill 1");
    snprintf(pattern, sizeof pattern, "%s/1/data/version-2/log.*", getenv("HF_ZK_DIR"));
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        patched += patch_file(found.gl_pathv[i], mark, (uint32_t)next);
    globfree(&found);
    assert_int_equal(patched, 1);
    witness_tell("start 1");
    witness_tell("wait");
}
