/* secret.h - makes and compares random secrets. */
#ifndef SECRET_H
#define SECRET_H

#include <stdbool.h>

/* 192 random bits as hexadecimal digits. */
#define SECRET_DIGITS 48
#define SECRET_SIZE   (SECRET_DIGITS + 1)

/* From the kernel's random numbers; false: there are none. */
bool secret_make(char out[SECRET_SIZE]);

/* In a time that depends on the length of `given` only.  False if `secret` is "". */
bool secret_equal(const char *secret, const char *given);

/* Wipe it from memory. */
void secret_forget(char secret[SECRET_SIZE]);

#endif
