/* word.c - four-letter words: what a server tells of itself without a session.
 *
 * Each has a connection of its own, to the address that the session's goes to: a
 * server closes it when it has answered.
 */
#include "store/zookeeper/examine.h"

#include <string.h>

#define LIMIT HF_SEC

void hf_zk_word_ask(struct hf_zk *zk, struct hf_zk_word *word, const char *letters,
                    void (*on_answer)(struct hf_zk *zk, void *data), void *data)
{
    struct sockaddr_storage at = { 0 };
    socklen_t               length = sizeof at;
    const char             *host = zk->dial.here.host;

    *word = (struct hf_zk_word){ .zk = zk, .on_answer = on_answer, .data = data };
    word->due = zk->remote.now;
    word->asking = true;
    word->next = zk->words;
    zk->words = word;
    if (getpeername(zk->dial.stream.fd, (struct sockaddr *)&at, &length) < 0)
        length = 0; /* it has just gone: the stream will break */
    hf_stream_open(&word->stream, (struct sockaddr *)&at, length, zk->tls, host);
    void *room = hf_stream_append(&word->stream, strlen(letters));
    if (length == 0 || room == NULL)
        return; /* due at once */
    memcpy(room, letters, strlen(letters));
    word->due = zk->remote.now + LIMIT;
}

void hf_zk_word_end(struct hf_zk_word *word)
{
    if (!word->asking)
        return;
    struct hf_zk_word **at = &word->zk->words;
    while (*at != word)
        at = &(*at)->next;
    *at = word->next;
    hf_polled_end(&word->polled, word->zk->base.fd);
    hf_stream_close(&word->stream);
    word->asking = false;
    word->text[word->used] = '\0';
}

/* True: it is over, answered or not. */
static bool run(struct hf_zk *zk, struct hf_zk_word *word)
{
    struct hf_stream *stream = &word->stream;
    long              n = 0;

    if (stream->state < HF_STREAM_OPEN)
        hf_stream_step(stream);
    if (stream->state == HF_STREAM_OPEN) {
        hf_stream_flush(stream);
        do {
            word->used += (size_t)n;
            n = hf_stream_read(stream, word->text + word->used,
                               sizeof word->text - 1 - word->used);
        } while (n > 0);
    }
    if (stream->state == HF_STREAM_BROKEN || zk->remote.now >= word->due ||
        word->used == sizeof word->text - 1)
        return true;
    return hf_polled_set(&word->polled, zk->base.fd, stream->fd,
                         hf_stream_events(stream)) < 0;
}

void hf_zk_words_run(struct hf_zk *zk)
{
    for (struct hf_zk_word *word = zk->words, *next; word != NULL; word = next) {
        next = word->next;
        if (!run(zk, word))
            continue;
        hf_zk_word_end(word);
        word->on_answer(zk, word->data); /* the word may be gone from here on */
    }
}

hf_time hf_zk_words_wake(const struct hf_zk *zk)
{
    hf_time wake = HF_NEVER;

    for (const struct hf_zk_word *word = zk->words; word != NULL; word = word->next)
        wake = word->due < wake ? word->due : wake;
    return wake;
}
