/* request.c - see request.h. */
#include "serve/request.h"

#include "json_read.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Every member of every request. */
struct words {
    char    op[16];
    char    kind[16];
    char    token[24];
    char    note[REQUEST_TEXT_MAX];
    char    reason[REQUEST_TEXT_MAX];
    int64_t timeout_ms;
};

enum member {
    ID,
    OP,
    LOCK,
    NAME,
    TOKEN,
    KIND,
    SLOTS,
    WEIGHT,
    TIMEOUT,
    MAX_WAITERS,
    NOTE,
    PLACE,
    REASON,
    MEMBERS
};

#define BIT(member) (1u << (member))

/* What each request needs, and what it may have; `id` and `op` are everybody's. */
static const struct form {
    const char     *name;
    enum request_op op;
    unsigned        needs;
    unsigned        takes;
} forms[] = {
    { "acquire", REQUEST_ACQUIRE, BIT(NAME),
      BIT(NAME) | BIT(KIND) | BIT(SLOTS) | BIT(WEIGHT) | BIT(TIMEOUT) | BIT(MAX_WAITERS) |
          BIT(NOTE) | BIT(PLACE) },
    { "release", REQUEST_RELEASE, BIT(LOCK), BIT(LOCK) },
    { "downgrade", REQUEST_DOWNGRADE, BIT(LOCK), BIT(LOCK) },
    { "check", REQUEST_CHECK, 0, BIT(LOCK) | BIT(NAME) | BIT(TOKEN) },
    { "list", REQUEST_LIST, 0, BIT(NAME) },
    { "ask", REQUEST_ASK, BIT(NAME), BIT(NAME) | BIT(REASON) },
    { "stats", REQUEST_STATS, 0, 0 },
    { "break", REQUEST_BREAK, BIT(NAME) | BIT(TOKEN), BIT(NAME) | BIT(TOKEN) },
};

static const char *const kinds[] = {
    [KIND_MUTEX] = "mutex",         [KIND_READER] = "reader", [KIND_WRITER] = "writer",
    [KIND_SEMAPHORE] = "semaphore", [KIND_CLAIM] = "claim",
};

struct parser {
    struct request    *request;
    struct words       words;
    struct json_member member[MEMBERS];
    const struct form *form;
    char              *error;
    size_t             error_size;
};

static bool refuse(struct parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(struct parser *parser, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(parser->error, parser->error_size, format, args);
    va_end(args);
    return false;
}

static void set_members(struct parser *parser)
{
    struct request *request = parser->request;
    struct words   *words = &parser->words;

    memcpy(parser->member,
           (struct json_member[MEMBERS]){
               [ID] = { "id", JSON_NUMBER, &request->id, 0, false },
               [OP] = { "op", JSON_TEXT, words->op, sizeof words->op, false },
               [LOCK] = { "lock", JSON_NUMBER, &request->lock, 0, false },
               [NAME] = { "name", JSON_TEXT, request->name, sizeof request->name, false },
               [TOKEN] = { "token", JSON_TEXT, words->token, sizeof words->token, false },
               [KIND] = { "kind", JSON_TEXT, words->kind, sizeof words->kind, false },
               [SLOTS] = { "slots", JSON_NUMBER, &request->slots, 0, false },
               [WEIGHT] = { "weight", JSON_NUMBER, &request->weight, 0, false },
               [TIMEOUT] = { "timeout_ms", JSON_NUMBER, &words->timeout_ms, 0, false },
               [MAX_WAITERS] = { "max_waiters", JSON_NUMBER, &request->max_waiters, 0,
                                 false },
               [NOTE] = { "note", JSON_TEXT, words->note, sizeof words->note, false },
               [PLACE] = { "place", JSON_BOOL, &request->place, 0, false },
               [REASON] = { "reason", JSON_TEXT, words->reason, sizeof words->reason,
                            false },
           },
           sizeof parser->member);
}

static bool find_form(struct parser *parser)
{
    if (!parser->member[ID].given || parser->request->id == 0)
        return refuse(parser, "\"id\" is missing: a number from 1 to 2^53 - 1");
    if (!parser->member[OP].given)
        return refuse(parser, "\"op\" is missing: acquire, release, ...");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(parser->words.op, forms[i].name) == 0) {
            parser->form = &forms[i];
            parser->request->op = forms[i].op;
            return true;
        }
    return refuse(parser, "there is no \"op\" called \"%s\"", parser->words.op);
}

static bool check_members(struct parser *parser)
{
    for (int i = LOCK; i < MEMBERS; i++) {
        const struct json_member *member = &parser->member[i];
        if (member->given && (parser->form->takes & BIT(i)) == 0)
            return refuse(parser, "%s has no member \"%s\"", parser->form->name,
                          member->name);
        if (!member->given && (parser->form->needs & BIT(i)) != 0)
            return refuse(parser, "%s needs the member \"%s\"", parser->form->name,
                          member->name);
    }
    if (parser->member[LOCK].given && parser->request->lock == 0)
        return refuse(parser, "\"lock\" must be the \"id\" of an acquire: 1 or more");
    return true;
}

static bool take_kind(struct parser *parser)
{
    struct request *request = parser->request;
    const char     *word = parser->words.kind;
    size_t          kind = 0, count = sizeof kinds / sizeof *kinds;

    while (*word != '\0' && kind < count && strcmp(word, kinds[kind]) != 0)
        kind++;
    if (kind == count)
        return refuse(parser, "there is no \"kind\" called \"%s\"", word);
    request->kind = (enum request_kind)kind;
    bool semaphore = request->kind == KIND_SEMAPHORE;
    if (semaphore != (request->slots > 0) || request->slots > UINT32_MAX - 1)
        return refuse(parser, semaphore ? "a semaphore needs \"slots\": 1 or more"
                                        : "only a semaphore has \"slots\"");
    if (!semaphore && parser->member[WEIGHT].given)
        return refuse(parser, "only a semaphore has a \"weight\"");
    if (semaphore && !parser->member[WEIGHT].given)
        request->weight = 1;
    if (semaphore && (request->weight == 0 || request->weight > request->slots))
        return refuse(parser, "\"weight\" must be from 1 to \"slots\"");
    if (request->max_waiters > UINT32_MAX)
        return refuse(parser, "\"max_waiters\" is too large");
    return true;
}

static bool take_token(struct parser *parser)
{
    if (parser->member[TOKEN].given &&
        !text_parse_number(parser->words.token, 1, UINT64_MAX, &parser->request->token))
        return refuse(parser, "\"token\" must be a string of decimal digits, from 1 on");
    if (parser->request->op != REQUEST_CHECK)
        return true;
    bool lock = parser->member[LOCK].given, name = parser->member[NAME].given;
    if (lock == name || name != parser->member[TOKEN].given)
        return refuse(parser, "check needs either \"lock\", or \"name\" and \"token\"");
    return true;
}

static void take_text(struct parser *parser)
{
    struct request *request = parser->request;
    enum member     which = request->op == REQUEST_ASK ? REASON : NOTE;

    request->has_text = parser->member[which].given;
    if (request->has_text)
        strcpy(request->text, parser->member[which].value);
    request->has_name = parser->member[NAME].given;
    request->timeout_ms = parser->member[TIMEOUT].given ? parser->words.timeout_ms : -1;
}

bool request_read(const char *line, size_t size, struct request *ret, char *error,
                  size_t error_size)
{
    struct parser parser = { .request = ret, .error = error, .error_size = error_size };

    *ret = (struct request){ 0 };
    set_members(&parser);
    if (!json_read(line, size, parser.member, MEMBERS, JSON_ALONE, error, error_size))
        return false;
    if (!find_form(&parser) || !check_members(&parser) || !take_token(&parser) ||
        !take_kind(&parser))
        return false;
    take_text(&parser);
    return true;
}
