/* fuzz.c - see fuzz.h. */
#include "fuzz/fuzz.h"

#include "base/random.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS_MAX = 256, INPUT_MAX = 4096, ROUNDS = 20000 };

struct input {
    uint8_t bytes[INPUT_MAX];
    size_t  size;
};

/* From memory of exactly that size, so that a sanitizer sees the byte too many. */
static void try_input(const struct input *input)
{
    uint8_t *exact = malloc(input->size > 0 ? input->size : 1);

    if (exact == NULL)
        abort();
    memcpy(exact, input->bytes, input->size);
    LLVMFuzzerTestOneInput(exact, input->size);
    free(exact);
}

/* Put `size` bytes in place of `old` bytes at `at`, as far as there is room. */
static void replace(struct input *input, size_t at, size_t old, const uint8_t *bytes,
                    size_t size)
{
    if (input->size - old + size > INPUT_MAX)
        return;
    memmove(input->bytes + at + size, input->bytes + at + old, input->size - at - old);
    memcpy(input->bytes + at, bytes, size);
    input->size = input->size - old + size;
}

static void mutate(struct input *input, const struct input *other, uint64_t *random)
{
    static const uint8_t edges[][4] = {
        { 0, 0, 0, 0 },
        { 0, 0, 0, 1 },
        { 0xff, 0xff, 0xff, 0xff },
        { 0x7f, 0xff, 0xff, 0xff },
        { 0x80, 0, 0, 0 },
        { 0, 0, 1, 0 },
        { '0', '0', '0', '-' },
        { '-', '-', '1', '0' },
    };
    uint64_t dice = hf_random_next(random);
    size_t   at = hf_random_next(random) % (input->size + 1);
    size_t   rest = input->size - at, most = rest < 8 ? rest : 8;
    size_t   length = hf_random_next(random) % (most + 1);
    uint8_t  byte = (uint8_t)(dice >> 8);

    switch (dice % 6) {
    case 0: /* a bit */
        if (rest > 0)
            input->bytes[at] ^= (uint8_t)(1u << (byte & 7));
        break;
    case 1: /* other bytes, or one more, or fewer */
        replace(input, at, length, &byte, 1);
        break;
    case 2:
        replace(input, at, length, &byte, 0);
        break;
    case 3:
        replace(input, at, rest < 4 ? rest : 4, edges[byte % (sizeof edges / 4)], 4);
        break;
    case 4: /* the end of another */
        at = at < other->size ? at : other->size;
        replace(input, input->size - rest, rest, other->bytes + at, other->size - at);
        break;
    default: /* again what was there */
        replace(input, at, 0, other->bytes, length < other->size ? length : other->size);
        break;
    }
}

static size_t read_seeds(const char *source, struct input *seeds)
{
    char           path[PATH_MAX];
    struct dirent *entry;
    size_t         count = 0;

    snprintf(path, sizeof path, "%.*s", (int)(strlen(source) - strlen(".c")), source);
    DIR *folder = opendir(path);
    while (folder != NULL && count < SEEDS_MAX && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        char file[PATH_MAX + sizeof entry->d_name];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        FILE *stream = fopen(file, "rb");
        if (stream == NULL)
            continue;
        seeds[count].size = fread(seeds[count].bytes, 1, INPUT_MAX, stream);
        count++;
        fclose(stream);
    }
    if (folder != NULL)
        closedir(folder);
    if (count == 0)
        fprintf(stderr, "%s: nothing to begin with\n", path);
    return count;
}

int hf_fuzz_run(int argc, char **argv, const char *source, int rounds)
{
    uint64_t      random = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    struct input *seeds = calloc(SEEDS_MAX + 1, sizeof *seeds);

    if (seeds == NULL)
        return 1;
    printf("# seed %llu\n", (unsigned long long)random);
    fflush(stdout); /* what fails aborts */

    size_t        count = read_seeds(source, seeds);
    struct input *input = &seeds[SEEDS_MAX];
    for (size_t i = 0; i < count; i++)
        try_input(&seeds[i]);
    for (int round = 0; count > 0 && round < rounds; round++) {
        *input = seeds[hf_random_next(&random) % count];
        size_t changes = 1 + hf_random_next(&random) % 6;
        while (changes-- > 0)
            mutate(input, &seeds[hf_random_next(&random) % count], &random);
        try_input(input);
    }
    free(seeds);
    return count > 0 ? 0 : 1;
}

int hf_fuzz_main(int argc, char **argv, const char *source)
{
    return hf_fuzz_run(argc, argv, source, ROUNDS);
}
