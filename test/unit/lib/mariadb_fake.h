/* mariadb_fake.h - a test that is itself the server of a MariaDB connection, byte by byte. */
#ifndef HF_UNIT_MARIADB_FAKE_H
#define HF_UNIT_MARIADB_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"
#include "lib/mariadb_rig.h"

#include <stdio.h>
#include <string.h>

#define FAKE_CHALLENGE "abcdefghABCDEFGHIJKL"
#define FAKE_MODERN    0xdfffffffu /* capabilities: all that a server of MySQL 8 has */

extern struct mariadb_rig fake_rig; /* the client, by the name of ana */

/* The client's last packet, without its head. */
extern unsigned char fake_said[4096], fake_said_number;
extern size_t        fake_said_size;

/* Let the client connect; and end both. */
void fake_dial_tcp(const char *password, struct hf_tls *tls);
void fake_dial_path(const char *password);
void fake_close(void);

/* Send bytes, a packet, a greeting. */
#define FAKE_SAY(number, text) fake_say(number, text, sizeof(text) - 1)
void   fake_say_raw(const void *bytes, size_t size);
void   fake_say(unsigned char number, const void *bytes, size_t size);
void   fake_greet(uint32_t capabilities, const char *plugin);
size_t fake_write_greeting(unsigned char *at, uint32_t capabilities, const char *plugin);

/* The client's next packet; false: it sent none. */
bool fake_hear(void);

/* Until all that was said had its effect: calls answered or broken, logins, ends. */
void fake_settle(unsigned effects);

/* It must log in: with this proof, for this plugin.  And send this proof. */
void fake_expect_login(const unsigned char *proof, size_t size, const char *plugin);
void fake_expect_proof(const void *proof, size_t size, unsigned char number);

/* Let it in, and end. */
void fake_expect_in(unsigned char number);

/* It must give up, and say so; `refusal` 0: it will try again.  And end. */
void fake_expect_end(int refusal, const char *with);

#endif
