/* examine.h - what the files of EXAMINE share.
 *
 *   examine.c         asks everything in one query (examine.sql), and answers
 *   examine_server.c  what is told of the server and of the way there
 *   examine_data.c    what is told of our data, and of what could happen to them
 */
#ifndef HF_PG_EXAMINE_H
#define HF_PG_EXAMINE_H

#include "store/findings.h"
#include "store/postgres/inner.h"

struct hf_pg_examine {
    const PGresult *result; /* of one row */
    hf_time         took;
    int64_t         ahead; /* its clock of ours, in microseconds */
};

/* A column by its name; "" and 0 if it is NULL. */
const char *hf_pg_told(const struct hf_pg_examine *examine, const char *column);
int64_t     hf_pg_told_number(const struct hf_pg_examine *examine, const char *column);
double      hf_pg_told_real(const struct hf_pg_examine *examine, const char *column);
bool        hf_pg_told_is(const struct hf_pg_examine *examine, const char *column,
                          const char *value);

void hf_pg_server_tell(const struct hf_pg *pg, const struct hf_pg_examine *examine,
                       struct hf_finding_list *list);
void hf_pg_data_tell(const struct hf_pg_examine *examine, const char *name,
                     struct hf_finding_list *list);

#endif
