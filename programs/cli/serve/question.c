/* question.c - see question.h. */
#include "serve/question.h"

#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- In a thread of its own -------------------------------------------------------- */

static int ask_store(struct hf_client *client, struct question *question)
{
    const struct request *request = &question->request;

    switch (request->op) {
    case REQUEST_CHECK:
        return question->handle != NULL ? hf_check(question->handle, SESSION_PATIENCE_MS)
                                        : hf_verify(client, request->name, request->token,
                                                    SESSION_PATIENCE_MS);
    case REQUEST_DOWNGRADE:
        return hf_downgrade(question->handle);
    case REQUEST_LIST:
        return hf_inspect(client, request->has_name ? request->name : NULL,
                          SESSION_PATIENCE_MS, &question->report);
    case REQUEST_ASK:
        return hf_ask(client, request->name, request->has_text ? request->text : NULL,
                      SESSION_PATIENCE_MS);
    case REQUEST_BREAK:
        return hf_break(client, request->name, request->token, SESSION_PATIENCE_MS);
    case REQUEST_ACQUIRE:
    case REQUEST_RELEASE:
    case REQUEST_STATS:
        break; /* these wait for nothing */
    }
    return HF_EINVAL;
}

static bool is_list(const struct question *question)
{
    return question->request.op == REQUEST_LIST;
}

/* The first that may be asked now: other questions overtake lists that have to wait until
 * the program has read earlier ones. */
static struct question **find_open(struct questions *questions)
{
    struct question **at = &questions->open;

    if (questions->reports >= QUESTION_REPORTS)
        while (*at != NULL && is_list(*at))
            at = &(*at)->next;
    return at;
}

static struct question *take_open(struct questions *questions)
{
    struct question **at, *question = NULL;

    pthread_mutex_lock(&questions->mutex);
    while (*(at = find_open(questions)) == NULL && !questions->stop)
        pthread_cond_wait(&questions->asked, &questions->mutex);
    if (!questions->stop) {
        question = *at;
        if ((*at = question->next) == NULL)
            questions->open_end = at;
        questions->reports += is_list(question);
    }
    pthread_mutex_unlock(&questions->mutex);
    return question;
}

static void put_done(struct questions *questions, struct question *question)
{
    question->next = NULL;
    pthread_mutex_lock(&questions->mutex);
    *questions->done_end = question;
    questions->done_end = &question->next;
    pthread_mutex_unlock(&questions->mutex);
    eventfd_write(questions->fd, 1);
}

static void *ask_all(void *data)
{
    struct questions *questions = data;
    struct question  *question;

    while ((question = take_open(questions)) != NULL) {
        question->result = ask_store(questions->client, question);
        if (question->result < 0) /* of this thread's last failure */
            snprintf(question->text, sizeof question->text, "%s",
                     hf_errmsg(questions->client));
        put_done(questions, question);
    }
    return NULL;
}

/* ---- In the main thread ------------------------------------------------------------ */

int questions_init(struct questions *questions, struct hf_client *client)
{
    *questions = (struct questions){ .client = client };
    questions->open_end = &questions->open;
    questions->done_end = &questions->done;
    pthread_mutex_init(&questions->mutex, NULL);
    pthread_cond_init(&questions->asked, NULL);
    questions->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return questions->fd < 0 ? errno : 0;
}

/* As many as there are questions: most programs ask one at a time, or none. */
static bool has_thread(struct questions *questions)
{
    int wanted =
        questions->count < QUESTION_THREADS ? (int)questions->count : QUESTION_THREADS;

    while (questions->threads < wanted &&
           pthread_create(&questions->thread[questions->threads], NULL, ask_all,
                          questions) == 0)
        questions->threads++;
    return questions->threads > 0;
}

int questions_ask(struct questions *questions, const struct question *question)
{
    struct question *copy = malloc(sizeof *copy);

    if (copy == NULL)
        return HF_ENOMEM;
    *copy = *question;
    copy->next = NULL;
    questions->count++;
    if (!has_thread(questions)) {
        questions->count--;
        free(copy);
        return HF_ENOMEM;
    }
    pthread_mutex_lock(&questions->mutex);
    *questions->open_end = copy;
    questions->open_end = &copy->next;
    pthread_cond_signal(&questions->asked);
    pthread_mutex_unlock(&questions->mutex);
    return 0;
}

struct question *questions_done(struct questions *questions)
{
    eventfd_t        count;
    struct question *question;

    if (questions->count == 0)
        return NULL;
    eventfd_read(questions->fd, &count);
    pthread_mutex_lock(&questions->mutex);
    question = questions->done;
    pthread_mutex_unlock(&questions->mutex);
    return question;
}

void questions_drop(struct questions *questions)
{
    struct question *question;

    pthread_mutex_lock(&questions->mutex);
    question = questions->done;
    if (question != NULL && (questions->done = question->next) == NULL)
        questions->done_end = &questions->done;
    if (question != NULL && is_list(question)) {
        questions->reports--;
        pthread_cond_signal(&questions->asked);
    }
    pthread_mutex_unlock(&questions->mutex);
    if (question == NULL)
        return;
    questions->count--;
    hf_report_free(question->report);
    free(question);
}

static void drop_open(struct questions *questions)
{
    while (questions->open != NULL) {
        struct question *question = questions->open;
        questions->open = question->next;
        free(question);
    }
}

void questions_finish(struct questions *questions)
{
    pthread_mutex_lock(&questions->mutex);
    questions->stop = true;
    pthread_cond_broadcast(&questions->asked);
    pthread_mutex_unlock(&questions->mutex);
    for (int i = 0; i < questions->threads; i++)
        pthread_join(questions->thread[i], NULL);
    drop_open(questions);
    while (questions->done != NULL)
        questions_drop(questions);
    pthread_cond_destroy(&questions->asked);
    pthread_mutex_destroy(&questions->mutex);
    close(questions->fd);
}
