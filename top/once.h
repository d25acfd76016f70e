/* once.h - all locks, printed once: as text or as one JSON document. */
#ifndef ONCE_H
#define ONCE_H

#include "rows.h"
#include "sight.h"

#include <stdio.h>

/* `width` 0: as wide as it is. */
void once_text(FILE *out, const struct rows *rows, const struct sight *sight,
               size_t width);
void once_json(FILE *out, const struct rows *rows, const struct sight *sight);

#endif
