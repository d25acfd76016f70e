/* once.h - prints all locks once, as text or as one JSON document. */
#ifndef ONCE_H
#define ONCE_H

#include "rows.h"
#include "snapshot.h"

#include <stdio.h>

/* `width` 0: no limit. */
void once_text(FILE *out, const struct rows *rows, const struct snapshot *snapshot,
               size_t width);
void once_json(FILE *out, const struct rows *rows, const struct snapshot *snapshot);

#endif
