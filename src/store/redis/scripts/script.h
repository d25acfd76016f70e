/* script.h - the Lua scripts, and how one is called.  base.lua says what the server
 * keeps. */
#ifndef HF_REDIS_SCRIPT_H
#define HF_REDIS_SCRIPT_H

#include "store/redis/wire/wire.h"

enum hf_redis_script {
    HF_REDIS_HELLO,
    HF_REDIS_RECLAIM,
    HF_REDIS_RENEW,
    HF_REDIS_BYE,
    HF_REDIS_ENTER,
    HF_REDIS_LEAVE,
    HF_REDIS_READ,
    HF_REDIS_DOWNGRADE,
    HF_REDIS_WATCH,
    HF_REDIS_BREAK,
    HF_REDIS_ASK,
    HF_REDIS_VERIFY,
    HF_REDIS_LIST,
    HF_REDIS_WATCH_STORE,
    HF_REDIS_HISTORY,
    HF_REDIS_DIAGNOSE,
    HF_REDIS_SCRIPTS,
};

/* Two more codes beside enum hf_served_code.  AGAIN: call again, now that the script is
 * loaded or the call will name all keys.  NEEDS_LOG: somebody watches the store, or
 * history is kept, so the script needs the keys for that. */
#define HF_REDIS_AGAIN     (-1)
#define HF_REDIS_NEEDS_LOG 8

/* The script's SHA1, computed on first use: most sessions need only a few.  NULL: no
 * memory. */
const char *hf_redis_script_sha(struct hf_redis *redis, enum hf_redis_script script);

/* To call a script: hf_redis_script() with the number of claim keys; add those keys;
 * add the caller (session or owner); add the script's own arguments; hf_redis_send(). */
void hf_redis_script(struct hf_redis *redis, enum hf_redis_script script, size_t claims);
void hf_redis_add_claim(struct hf_redis *redis, const char *name);
void hf_redis_add_session(struct hf_redis *redis);
void hf_redis_add_owner(struct hf_redis *redis, uint64_t id); /* session and place */
void hf_redis_add(struct hf_served *served, const char *text);
void hf_redis_add_note(struct hf_served *served, const char *text);
void hf_redis_add_number(struct hf_served *served, uint64_t number);
void hf_redis_add_seq(struct hf_served *served, uint64_t seq); /* sixteen digits, or 0 */
void hf_redis_add_kind(struct hf_served *served, const struct hf_shape *shape);
void hf_redis_add_wish(struct hf_served *served, const struct hf_req *req);
void hf_redis_send(struct hf_redis *redis, struct hf_redis_call *call,
                   hf_redis_on_reply *on_reply, void *data);

/* SCRIPT LOAD. */
void hf_redis_script_load(struct hf_redis *redis, enum hf_redis_script script);
void hf_redis_load(struct hf_redis *redis, const char *text);
void hf_redis_sha1(const char *text, char ret[41]); /* sha1.c */

/* The parts of an answer; 0 and NULL where there is none.  The server counts time in
 * microseconds; hf_redis_time() returns at most a day. */
int64_t     hf_redis_number(const void *reply, size_t index);
hf_time     hf_redis_time(const void *reply, size_t index);
const char *hf_redis_text(const void *reply, size_t index);

#endif
