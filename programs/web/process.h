/* process.h - the usual metrics of a process: process_cpu_seconds_total and so on. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdio.h>

void process_write(FILE *out);

#endif
