/* lines.h - reports of lines that never were, for tests of what shows them. */
#ifndef HF_TEST_LINES_H
#define HF_TEST_LINES_H

#include "core/line.h"

#include <holdfast.h>

/* A place of a mutex, by its token: of "ana@db2:7", since 1,000,000 us, with no lease. */
struct hf_ticket lines_place(uint64_t token);

/* The line `name` with these places; free it as any report. */
struct hf_report *lines_report(const char *name, const struct hf_ticket *place,
                               size_t count);

/* The same of mutexes, with tokens from `first` on. */
struct hf_report *lines_mutex(const char *name, uint64_t first, size_t count);

#endif
