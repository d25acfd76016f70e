/* link.h - how the client gets on with its store, for the user. */
#ifndef HF_CLIENT_LINK_H
#define HF_CLIENT_LINK_H

#include "client/client.h"

/* After a turn, with the mutex held: make it visible, and have on_link called if it is
 * other than before. */
void hf_link_publish(struct hf_client *client);

#endif
