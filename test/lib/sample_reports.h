/* sample_reports.h - made-up reports, for tests of code that shows reports. */
#ifndef HF_TEST_SAMPLE_REPORTS_H
#define HF_TEST_SAMPLE_REPORTS_H

#include "core/line.h"

#include <holdfast.h>

/* A place of a mutex, by its token: of "ana@db2:7", since 1,000,000 us, with no lease. */
struct hf_place sample_place(uint64_t token);

/* A report of `name` with these places; free it as any report. */
struct hf_report *sample_report(const char *name, const struct hf_place *place,
                                size_t count);

/* The same with places of a mutex, with tokens from `first` on. */
struct hf_report *sample_mutexes(const char *name, uint64_t first, size_t count);

#endif
