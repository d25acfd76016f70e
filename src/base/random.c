/* random.c - see random.h. */
#include "base/random.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

void hf_random_fill(uint64_t *ret, size_t count)
{
    size_t size = count * sizeof *ret;

    assert(size <= 256); /* up to 256 bytes come at once or not at all */
    for (;;) {
        ssize_t n = getrandom(ret, size, 0);
        if (n == (ssize_t)size)
            return;
        if (n >= 0 || errno != EINTR)
            break;
    }
    /* getrandom() does not fail on any kernel that we support; if it does, at least
     * differ from other processes. */
    uint64_t state = (uint64_t)hf_now() ^ (uint64_t)getpid() << 40;
    for (size_t i = 0; i < count; i++)
        ret[i] = hf_random_next(&state);
}

uint64_t hf_random(void)
{
    uint64_t number;

    hf_random_fill(&number, 1);
    return number;
}

uint64_t hf_random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
