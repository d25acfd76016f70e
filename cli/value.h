/* value.h - what stands behind an option: counts, times, signals.
 *
 * 0, or EXIT_USAGE after having complained; `option` is its long name.
 */
#ifndef VALUE_H
#define VALUE_H

#include "leftovers.h"

#include <stdint.h>

int value_count(const char *option, const char *value, uint32_t *ret);
int value_duration(const char *option, const char *value, int64_t *ret);
int value_exit_code(const char *option, const char *value, int *ret);
int value_signal(const char *option, const char *value, int *ret);
int value_leftovers(const char *option, const char *value, enum leftovers *ret);
int value_token(const char *option, const char *value, uint64_t *ret);
int value_role(const char *option, const char *value, const char **ret);

#endif
