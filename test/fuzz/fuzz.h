/* fuzz.h - targets for libFuzzer that are also ordinary tests.
 *
 * A target is a file with LLVMFuzzerTestOneInput(), which asserts what must be true of
 * any bytes, and a folder of the same name with bytes to begin with.  `make fuzz` builds
 * it with HF_FUZZER defined and lets libFuzzer look for more; otherwise main() runs those
 * bytes, and a number of seeded mutations of them.
 */
#ifndef HF_FUZZ_H
#define HF_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What main() does; `source` is its __FILE__, and argv[1] a seed if there is one. */
int hf_fuzz_main(int argc, char **argv, const char *source);

/* The same with that many mutations, for a target that is slow. */
int hf_fuzz_run(int argc, char **argv, const char *source, int rounds);

#endif
