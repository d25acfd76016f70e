/* requests.h - others who ask for a lock that we hold. */
#ifndef REQUESTS_H
#define REQUESTS_H

#include <holdfast.h>

#include <stdbool.h>

#define REQUEST_MAX 512

/* Zero it; the session fills it from inside hf_process(). */
struct requests {
    bool fresh; /* somebody asked since we last looked */
    char reason[REQUEST_MAX];
};

/* Somebody asks: the library's on_ask. */
void requests_take(struct requests *requests, const char *reason);

/* Did somebody ask?  Once for each time, with the last reason. */
bool requests_next(struct requests *requests);

/* Tell the user that somebody asks, and what follows from it: `then`. */
void requests_say(const struct requests *requests, const char *name, const char *then);

#endif
