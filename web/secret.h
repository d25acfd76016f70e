/* secret.h - random secrets, and how they are compared. */
#ifndef SECRET_H
#define SECRET_H

#include <stdbool.h>

/* 192 random bits as hexadecimal digits. */
#define SECRET_DIGITS 48
#define SECRET_SIZE   (SECRET_DIGITS + 1)

/* By the kernel's random numbers; false: there are none. */
bool secret_make(char out[SECRET_SIZE]);

/* The time it takes tells the length of `given` at most.  False if `secret` is "". */
bool secret_equal(const char *secret, const char *given);

/* So that not even a memory dump has it. */
void secret_forget(char secret[SECRET_SIZE]);

#endif
