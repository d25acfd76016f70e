/* story.h - the history of a lock as a line of text, for recipe tests.
 *
 *     gA eB rA gB
 *
 * What happened, and to whom: g granted, e entered, r released, l left, x lost, b broken, a
 * asked, d lessened; places are A, B, C by when they are first told of.
 */
#ifndef HF_TEST_STORY_H
#define HF_TEST_STORY_H

#include "lib/recipe.h"

/* Open the store with that parameter. */
int story_try_open(const char *param, char error[256], struct hf_client **ret);

/* A client of a store that keeps a thousand records; the test ends here if it cannot. */
struct hf_client *story_open(void);

/* What happened after a number, which must be told; and as a story. */
struct hf_records *story_recall(struct hf_client *client, const char *name,
                                uint64_t after);
void               story_write(const struct hf_records *history, char story[256]);

/* The history of a lock once it is that story: what others do may take a moment. */
struct hf_records *story_await(struct hf_client *client, const char *name,
                               const char *wanted);
void story_expect(struct hf_client *client, const char *name, const char *wanted);

#endif
