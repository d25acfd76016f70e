/* change.c - see change.h. */
#include "change.h"

#include "answer.h"
#include "audit.h"
#include "clock.h"
#include "json_read.h"
#include "place.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_MS 2000 /* all other requests wait meanwhile */
#define NAME_ROOM   256
#define REASON_ROOM 401

/* Those that are missing are "". */
static bool read_texts(struct body body, struct json_member *member, size_t members)
{
    for (size_t i = 0; i < members; i++)
        ((char *)member[i].value)[0] = '\0';
    return json_read(body.text, body.size, member, members, JSON_SKIPPING, NULL, 0);
}

enum MHD_Result change_enter(struct site *site, struct MHD_Connection *connection,
                             struct body body)
{
    char               key[SECRET_SIZE + 1];
    struct json_member member[] = { { "key", JSON_TEXT, key, sizeof key, false } };
    struct draft       draft;

    if (!read_texts(body, member, 1))
        return answer_error(connection, MHD_HTTP_BAD_REQUEST, "expected a key");
    const char *token = auth_log_in(&site->auth, key, clock_wall_us());
    if (token == NULL)
        return answer_error(connection, MHD_HTTP_UNAUTHORIZED,
                            "this key is wrong or used up");
    if (!draft_begin_json(&draft))
        return MHD_NO;
    json_string(&draft.json, "token", token);
    return draft_send_json(&draft, connection, MHD_HTTP_OK);
}

/* The library's message, with a fitting HTTP status. */
static enum MHD_Result answer_failure(struct site           *site,
                                      struct MHD_Connection *connection, int r)
{
    unsigned    status = r == HF_ENOTFOUND  ? MHD_HTTP_NOT_FOUND
                         : r == HF_EINVAL   ? MHD_HTTP_BAD_REQUEST
                         : r == HF_EDENIED  ? MHD_HTTP_FORBIDDEN
                         : r == HF_ETIMEOUT ? MHD_HTTP_GATEWAY_TIMEOUT
                                            : MHD_HTTP_BAD_GATEWAY;
    const char *text = hf_errmsg(site->monitor.client);

    return answer_error(connection, status, *text != '\0' ? text : hf_strerror(r));
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* ---- Ask --------------------------------------------------------------------------- */

/* If the store keeps no history, add the entry to our own. */
static void add_to_history(struct site *site, const char *what,
                           const struct hf_entry *entry, const char *reason)
{
    if (!site->monitor.exact)
        history_add_place(&site->monitor.history, what, entry, clock_wall_us(), reason);
}

static void add_requests(struct site *site, const char *name, const char *reason)
{
    const struct lock *lock = locks_find(&site->monitor.locks, name);

    if (lock != NULL && lock->holder != NULL)
        add_to_history(site, "asked", lock->holder, reason);
}

enum MHD_Result change_ask(struct site *site, struct MHD_Connection *connection,
                           struct body body)
{
    char               name[NAME_ROOM], reason[REASON_ROOM], who[AUDIT_WHO_MAX];
    struct json_member member[] = { { "name", JSON_TEXT, name, sizeof name, false },
                                    { "reason", JSON_TEXT, reason, sizeof reason,
                                      false } };
    struct draft       draft;

    if (!read_texts(body, member, 2) || *name == '\0')
        return answer_error(connection, MHD_HTTP_BAD_REQUEST,
                            "expected a name, and a reason of at most 400 bytes");
    struct audit audit = { "ask", audit_who(connection, who), name, "", "", reason, 0 };
    audit.result = hf_ask(site->monitor.client, name, reason, PATIENCE_MS);
    audit_write(&audit);
    if (audit.result == HF_ENOTFOUND)
        return answer_error(connection, MHD_HTTP_NOT_FOUND, "nobody holds it");
    if (audit.result < 0)
        return answer_failure(site, connection, audit.result);
    add_requests(site, name, reason);
    if (!draft_begin_json(&draft))
        return MHD_NO;
    json_number(&draft.json, "asked", audit.result);
    return draft_send_json(&draft, connection, MHD_HTTP_OK);
}

/* ---- Break ------------------------------------------------------------------------- */

static const struct hf_entry *find_place(const struct hf_report *report, uint64_t token)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->entry[i]->token == token)
            return report->entry[i];
    return NULL;
}

/* An error message; NULL: the request is valid. */
static const char *check_break(const char *name, const char *typed, const char *reason,
                               const char *token, uint64_t *number)
{
    if (!text_parse_number(token, 1, UINT64_MAX, number))
        return "expected the token of a place";
    if (*name == '\0' || strcmp(name, typed) != 0)
        return "the typed name is not the name of the lock";
    if (is_blank(reason))
        return "expected a reason";
    return NULL;
}

/* A copy of a place, which outlives its report. */
struct kept {
    struct hf_entry entry;
    char            text[5][512];
};

static const char *keep(char out[512], const char *text)
{
    snprintf(out, 512, "%s", text);
    return out;
}

static void keep_place(struct kept *kept, const char *name, const struct hf_entry *entry)
{
    static const struct hf_entry none = {
        .kind = "unknown", .slot = -1, .host = "", .user = "", .command = "", .note = ""
    };

    kept->entry = entry != NULL ? *entry : none;
    kept->entry.name = name;
    kept->entry.kind = keep(kept->text[0], kept->entry.kind);
    kept->entry.host = keep(kept->text[1], kept->entry.host);
    kept->entry.user = keep(kept->text[2], kept->entry.user);
    kept->entry.command = keep(kept->text[3], kept->entry.command);
    kept->entry.note = keep(kept->text[4], kept->entry.note);
}

/* Asks the store for the present owner, because our locks may be a moment behind. */
static int break_place(struct site *site, struct audit *audit, uint64_t token)
{
    struct hf_client *client = site->monitor.client;
    struct hf_report *report;
    struct kept       kept;
    char              holder[PLACE_TEXT_MAX] = "";

    audit->result = hf_inspect(client, audit->name, PATIENCE_MS, &report);
    if (audit->result < 0) {
        audit_write(audit);
        return audit->result;
    }
    const struct hf_entry *entry = find_place(report, token);
    keep_place(&kept, audit->name, entry);
    kept.entry.token = token;
    if (entry != NULL)
        place_address(holder, entry);
    hf_report_free(report);
    audit->holder = holder;
    audit->result = hf_break(client, audit->name, token, PATIENCE_MS);
    audit_write(audit);
    audit->holder = "";
    if (audit->result == 0)
        add_to_history(site, "broken", &kept.entry, audit->reason);
    return audit->result;
}

enum MHD_Result change_break(struct site *site, struct MHD_Connection *connection,
                             struct body body)
{
    char               name[NAME_ROOM], token[24], typed[NAME_ROOM], reason[REASON_ROOM];
    char               who[AUDIT_WHO_MAX];
    struct json_member member[] = { { "name", JSON_TEXT, name, sizeof name, false },
                                    { "token", JSON_TEXT, token, sizeof token, false },
                                    { "typed", JSON_TEXT, typed, sizeof typed, false },
                                    { "reason", JSON_TEXT, reason, sizeof reason,
                                      false } };
    uint64_t           number;
    struct draft       draft;

    if (!read_texts(body, member, 4))
        return answer_error(connection, MHD_HTTP_BAD_REQUEST,
                            "expected the strings name, token, typed and reason; the "
                            "reason has at most 400 bytes");
    const char *fault = check_break(name, typed, reason, token, &number);
    if (fault != NULL)
        return answer_error(connection, MHD_HTTP_BAD_REQUEST, fault);
    struct audit audit = {
        "break", audit_who(connection, who), name, token, "", reason, 0
    };
    int r = break_place(site, &audit, number);
    if (r == HF_ENOTFOUND)
        return answer_error(connection, MHD_HTTP_NOT_FOUND,
                            "this place is gone: nothing was broken");
    if (r < 0)
        return answer_failure(site, connection, r);
    if (!draft_begin_json(&draft))
        return MHD_NO;
    json_token(&draft.json, "broken", number);
    return draft_send_json(&draft, connection, MHD_HTTP_OK);
}
