/* say.h - what the program tells on stderr. */
#ifndef SAY_H
#define SAY_H

/* As holdfast(1) has them. */
#define EXIT_USAGE       64
#define EXIT_UNAVAILABLE 69
#define EXIT_INTERNAL    70

/* One line on stderr, cleaned as by text_clean(), in one write. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with errno's text behind it; returns EXIT_INTERNAL. */
int say_errno(const char *what);

#endif
