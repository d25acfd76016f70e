/* rwlock.c - write, then go on reading, and let nobody write in between.
 *
 *     cc -o rwlock rwlock.c $(pkg-config --cflags --libs holdfast)
 *     ./rwlock [STORE-URL]
 *
 * One client writes and becomes a reader; another one tries to read and to write.  It
 * prints
 *
 *     written; another reader: not yet
 *     downgraded; another reader: comes in
 *     downgraded; another writer: not yet
 *     released; another writer: comes in
 */
#include <holdfast.h>
#include <stdio.h>

/* Try once, without waiting, and give it back. */
static int try_it(const char *when, const char *who, struct hf_lock *lock)
{
    int r = hf_acquire(lock, 0);

    if (r != 0 && r != HF_EBUSY)
        return r; /* something is wrong, other than that it is held */
    printf("%s; another %s: %s\n", when, who, r == 0 ? "comes in" : "not yet");
    return r == 0 ? hf_release(lock) : 0;
}

static int run(struct hf_client *one, struct hf_client *other)
{
    struct hf_lock *mine, *reader, *writer; /* freed with their clients */
    int             r;

    if ((r = hf_writer(one, "settings", &mine)) != 0 ||
        (r = hf_reader(other, "settings", &reader)) != 0 ||
        (r = hf_writer(other, "settings", &writer)) != 0)
        return r;
    if ((r = hf_acquire(mine, 5000)) != 0 ||
        (r = try_it("written", "reader", reader)) != 0)
        return r;
    /* In one step: releasing and taking a reader would let a writer in between. */
    if ((r = hf_downgrade(mine)) != 0 ||
        (r = try_it("downgraded", "reader", reader)) != 0 ||
        (r = try_it("downgraded", "writer", writer)) != 0)
        return r;
    if ((r = hf_release(mine)) != 0) /* HF_ELOST: it was not ours to the end */
        return r;
    return try_it("released", "writer", writer);
}

int main(int argc, char **argv)
{
    const char       *url = argc > 1 ? argv[1] : NULL;
    struct hf_client *one = NULL, *other = NULL;
    int               r = hf_open(url, NULL, &one);

    if (r == 0)
        r = hf_open(url, NULL, &other);
    if (r == 0)
        r = run(one, other);
    if (r != 0)
        fprintf(stderr, "rwlock: %s\n", hf_strerror(r));
    hf_close(other);
    hf_close(one);
    return r != 0;
}
