/* metrics.h - /metrics, for Prometheus; docs/web.md lists them. */
#ifndef METRICS_H
#define METRICS_H

#include "site.h"

enum MHD_Result metrics_answer(struct site *site, struct MHD_Connection *connection);

#endif
