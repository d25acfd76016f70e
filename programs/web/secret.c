/* secret.c - see secret.h. */
#include "secret.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

bool secret_make(char out[SECRET_SIZE])
{
    unsigned char bytes[SECRET_DIGITS / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof bytes);
    return true;
}

bool secret_equal(const char *secret, const char *given)
{
    size_t   length = strlen(secret), other = strlen(given);
    unsigned different = length != other || length == 0;

    for (size_t i = 0; i < other; i++)
        different |=
            (unsigned char)given[i] ^ (unsigned char)secret[length > 0 ? i % length : 0];
    return different == 0;
}

void secret_forget(char secret[SECRET_SIZE])
{
    explicit_bzero(secret, SECRET_SIZE);
}
