/* log.h - messages on stderr. */
#ifndef LOG_H
#define LOG_H

/* The same as holdfast(1). */
#define EXIT_USAGE       64
#define EXIT_UNAVAILABLE 69
#define EXIT_INTERNAL    70

/* One line on stderr, cleaned as by text_clean(), in one write. */
void log_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, followed by the text of errno; returns EXIT_INTERNAL. */
int log_errno(const char *what);

#endif
