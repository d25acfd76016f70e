/* process.h - metrics of this process, by the names that all programs have for them. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdio.h>

void process_write(FILE *out);

#endif
