/* diagnose.h - DIAGNOSE, for `holdfast doctor`.
 *
 *   diagnose.c         sends one query (diagnose.sql), and answers
 *   diagnose_server.c  findings about the server and the connection
 *   diagnose_data.c    findings about our data, and what could happen to them
 */
#ifndef HF_PG_DIAGNOSE_H
#define HF_PG_DIAGNOSE_H

#include "store/findings.h"
#include "store/postgres/inner.h"

struct hf_pg_diagnose {
    const PGresult *result; /* of one row */
    hf_time         took;
    int64_t         ahead; /* of the server's clock, in microseconds */
};

/* A column of the result by its name; "" and 0 if it is NULL. */
const char *hf_pg_fact(const struct hf_pg_diagnose *diagnose, const char *column);
int64_t     hf_pg_fact_number(const struct hf_pg_diagnose *diagnose, const char *column);
double      hf_pg_fact_real(const struct hf_pg_diagnose *diagnose, const char *column);
bool        hf_pg_fact_is(const struct hf_pg_diagnose *diagnose, const char *column,
                          const char *value);

void hf_pg_report_server(const struct hf_pg *pg, const struct hf_pg_diagnose *diagnose,
                         struct hf_finding_list *list);
void hf_pg_report_data(const struct hf_pg_diagnose *diagnose, const char *name,
                       struct hf_finding_list *list);

#endif
