/* stream.c - see stream.h. */
#include "stream.h"

#include "answer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (16 * 1024)

struct stream {
    struct site           *site;
    struct MHD_Connection *connection;
    struct stream         *next, **link; /* link: the pointer to this stream */
    struct message        *message;      /* being sent; NULL: none */
    size_t                 at;
    uint64_t               version, update; /* the browser has these; update 0: nothing */
    bool                   asleep;
};

static void sleep_on(struct stream *stream)
{
    assert(!stream->asleep);
    stream->asleep = true;
    MHD_suspend_connection(stream->connection);
}

/* The next message.  False: there is none. */
static bool next_message(struct stream *stream)
{
    struct site *site = stream->site;

    if (stream->update == site->feed.update)
        return false;
    stream->message =
        feed_message(&site->feed, &site->monitor, stream->version, stream->update);
    if (stream->message == NULL)
        return false;
    stream->at = 0;
    stream->version = stream->message->version;
    stream->update = stream->message->update;
    return true;
}

static ssize_t read_stream(void *data, uint64_t position, char *to, size_t room)
{
    struct stream *stream = data;

    (void)position;
    if (stream->site->ending)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (stream->message == NULL && !next_message(stream)) {
        sleep_on(stream);
        return 0;
    }
    size_t left = stream->message->size - stream->at;
    size_t count = left < room ? left : room;
    memcpy(to, stream->message->text + stream->at, count);
    stream->at += count;
    if (stream->at == stream->message->size) {
        message_free(stream->message);
        stream->message = NULL;
    }
    return (ssize_t)count;
}

static void free_stream(void *data)
{
    struct stream *stream = data;

    *stream->link = stream->next;
    if (stream->next != NULL)
        stream->next->link = stream->link;
    stream->site->stream_count--;
    message_free(stream->message);
    free(stream);
}

static struct stream *new_stream(struct site *site, struct MHD_Connection *connection)
{
    struct stream *stream = calloc(1, sizeof *stream);
    const char    *last =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Last-Event-ID");

    if (stream == NULL)
        return NULL;
    stream->site = site;
    stream->connection = connection;
    /* A browser that reconnects; which leases it saw does not matter. */
    if (feed_parse_id(&site->feed, last, &stream->version))
        stream->update = 1;
    stream->next = site->streams;
    stream->link = &site->streams;
    if (stream->next != NULL)
        stream->next->link = &stream->next;
    site->streams = stream;
    site->stream_count++;
    return stream;
}

enum MHD_Result stream_answer(struct site *site, struct MHD_Connection *connection)
{
    if (site->stream_count >= STREAMS_MAX)
        return answer_error(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                            "too many browsers are connected");
    struct stream *stream = new_stream(site, connection);
    if (stream == NULL)
        return MHD_NO;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, stream,
                                          free_stream);
    if (response == NULL) {
        free_stream(stream);
        return MHD_NO;
    }
    return answer_response(connection, MHD_HTTP_OK, "text/event-stream", response);
}

void streams_wake(struct site *site)
{
    feed_new_update(&site->feed, &site->monitor);
    for (struct stream *stream = site->streams; stream != NULL; stream = stream->next) {
        if (!stream->asleep)
            continue;
        stream->asleep = false;
        MHD_resume_connection(stream->connection);
    }
}

void streams_end(struct site *site)
{
    site->ending = true;
    streams_wake(site);
}
