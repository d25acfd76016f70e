/* history_text.h - the history of a lock as a line of text, for recipe tests.
 *
 *     gA eB rA gB
 *
 * An event and a place each.  Events: g granted, e entered, r released, l left, x lost, b
 * broken, a asked, d downgraded.  Places are A, B, C in the order of their first event.
 */
#ifndef HF_TEST_HISTORY_TEXT_H
#define HF_TEST_HISTORY_TEXT_H

#include "lib/recipe.h"

/* Open the store with that parameter of its URL. */
int history_try_open(const char *param, char error[256], struct hf_client **ret);

/* A client of a store that keeps a thousand entries; skips the test if it cannot. */
struct hf_client *history_open(void);

/* The entries after a number; and an answer as text. */
struct hf_history_report *history_recall(struct hf_client *client, const char *name,
                                         uint64_t after);
void history_as_text(const struct hf_history_report *history, char text[256]);

/* Wait until the history of a lock is that text, since events of others may take a
 * moment. */
struct hf_history_report *history_await(struct hf_client *client, const char *name,
                                        const char *wanted);
void history_expect(struct hf_client *client, const char *name, const char *wanted);

#endif
