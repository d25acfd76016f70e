/* sha1.c - SHA1 (FIPS 180-4): Redis calls scripts by it.
 *
 * It protects nothing: the server computes the same name.  So it is no reason to load
 * OpenSSL for a connection without TLS.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 64

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

static uint32_t read_word(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
    switch (round / 20) {
    case 0:
        return ((b & c) | (~b & d)) + 0x5a827999;
    case 1:
        return (b ^ c ^ d) + 0x6ed9eba1;
    case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    default:
        return (b ^ c ^ d) + 0xca62c1d6;
    }
}

static void take_block(uint32_t hash[5], const unsigned char block[BLOCK])
{
    uint32_t word[80];
    uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4];

    for (int i = 0; i < 16; i++)
        word[i] = read_word(block + 4 * i);
    for (int i = 16; i < 80; i++)
        word[i] = rotate(word[i - 3] ^ word[i - 8] ^ word[i - 14] ^ word[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t next = rotate(a, 5) + mix(i, b, c, d) + e + word[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    hash[0] += a;
    hash[1] += b;
    hash[2] += c;
    hash[3] += d;
    hash[4] += e;
}

/* The last block or two: the rest of the text, a 1 bit, zeros, and the length in bits. */
static void take_end(uint32_t hash[5], const char *rest, size_t length, uint64_t all)
{
    unsigned char last[2 * BLOCK] = { 0 };
    size_t        size = length + 1 + 8 <= BLOCK ? BLOCK : 2 * BLOCK;

    assert(length < BLOCK);
    memcpy(last, rest, length);
    last[length] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[size - 1 - i] = (unsigned char)(all * 8 >> 8 * i);
    for (size_t at = 0; at < size; at += BLOCK)
        take_block(hash, last + at);
}

void hf_redis_sha1(const char *text, char ret[41])
{
    uint32_t hash[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
    size_t   length = strlen(text), at = 0;

    for (; length - at >= BLOCK; at += BLOCK)
        take_block(hash, (const unsigned char *)text + at);
    take_end(hash, text + at, length - at, length);
    for (size_t i = 0; i < 5; i++)
        snprintf(ret + 8 * i, 9, "%08x", hash[i]);
}
