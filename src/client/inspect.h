/* inspect.h - questions about lines on their way to the engine and back. */
#ifndef HF_INSPECT_H
#define HF_INSPECT_H

#include "client/client.h"

/* Hand new ones to the engine, with the mutex held. */
void hf_queries_collect(struct hf_client *client);

/* Free what nobody waits for any more, when the store is closed. */
void hf_queries_drop(struct hf_client *client);

#endif
