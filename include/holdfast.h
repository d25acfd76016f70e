/* holdfast.h - locks shared by many processes, on one machine or many.
 *
 *     struct hf_client *client;
 *     struct hf_lock   *lock;
 *
 *     if (hf_open(NULL, NULL, &client) == 0 &&
 *         hf_mutex(client, "nightly-report", &lock) == 0 &&
 *         hf_acquire(lock, 5000) == 0) {
 *             write_report(hf_token(lock));
 *             hf_release(lock);
 *     }
 *
 * Results.  A function that can fail returns 0 or a negative HF_E... code, and
 * leaves what it was to return untouched on failure.  hf_errmsg() tells a
 * person what went wrong and what to do.
 *
 * Ownership.  What a constructor gives you is yours to free: locks with
 * hf_lock_free(), reports with hf_report_free(), the client last with
 * hf_close().  Strings passed in are copied.  Freeing NULL is fine.
 *
 * Threads.  With the keeper thread (the default) every function may be called
 * from any thread, short of freeing what another thread is using.  With
 * HF_NO_KEEPER too; then somebody must call hf_process() while a lock is held
 * or waited for.  Callbacks come from the keeper or from hf_process(), one at a
 * time, with no lock of ours held: they may call anything but hf_close().
 * Blocking calls are not cancellation points.
 *
 * Fork.  A child must not use what its parent opened: calls there return
 * HF_EFORK and do nothing, and nothing the child does can end the parent's
 * locks.  exec() closes all our descriptors.
 *
 * Signals, output.  The library installs no handlers, never prints, never
 * exits.  hf_left_ms() may be called from a signal handler.
 */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HF_API   __attribute__((visibility("default")))
#define HF_CHECK __attribute__((visibility("default"), warn_unused_result))
#else
#define HF_API
#define HF_CHECK
#endif

#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 1
#define HF_VERSION_PATCH 0

/* ---- Results ------------------------------------------------------------ */

enum hf_error {
    HF_EINVAL = -1,       /* an argument makes no sense; the message says which */
    HF_ENOMEM = -2,       /* out of memory */
    HF_EBUSY = -3,        /* somebody else has it, and you asked not to wait */
    HF_ETIMEOUT = -4,     /* it did not become yours in the time given */
    HF_ECANCELED = -5,    /* hf_cancel() was called */
    HF_ELOST = -6,        /* it was yours, but not to the end: stop, and say so */
    HF_EDOWN = -7,        /* the store cannot be reached, or does not answer */
    HF_EDENIED = -8,      /* the store refuses you: permissions, password */
    HF_EFORK = -9,        /* opened by the parent process; open your own */
    HF_EOWNER = -10,      /* another thread holds this handle */
    HF_ESTATE = -11,      /* the handle is in no state for this call */
    HF_EMISMATCH = -12,   /* others use this name as another kind of lock */
    HF_EFULL = -13,       /* no room in the store: disk, memory or queue limit */
    HF_ECORRUPT = -14,    /* the store's data make no sense; nothing was changed */
    HF_EUNSUPPORTED = -15, /* not built in, or the store cannot do this */
    HF_ENOTFOUND = -16,   /* the place or file named is not there (any more) */
    HF_ESTORE = -17,      /* any other failure of the store */
};

/* "HF_EBUSY", and a short sentence; never NULL. */
HF_API const char *hf_errname(int code);
HF_API const char *hf_strerror(int code);

/* May the same call succeed later, unchanged?  Is a lock gone that you had? */
HF_API bool hf_err_retryable(int code);
HF_API bool hf_err_lost(int code);

/* "0.1.0", and the store schemes built in: "sqlite memory". */
HF_API const char *hf_version(void);
HF_API const char *hf_stores(void);

/* ---- Client: one session in one store ------------------------------------ */

struct hf_client;
struct hf_lock;

/* Where a lock handle stands. */
enum hf_state {
    HF_IDLE,    /* not wanted */
    HF_WAITING, /* wanted, not yet had */
    HF_HELD,    /* yours, for hf_left_ms() yet */
    HF_LEAVING, /* given up, the store is being told */
    HF_LOST,    /* was yours and is no longer; hf_release() acknowledges it */
};

enum hf_flags {
    HF_NO_KEEPER = 1 << 0, /* no thread of ours: you call hf_process() */
};

/* Start from HF_OPTIONS_INIT; zero means the default everywhere. */
struct hf_options {
    size_t      size;    /* sizeof(struct hf_options): lets the struct grow */
    unsigned    flags;   /* of enum hf_flags */
    int         ttl_ms;  /* how long a dead holder blocks the rest; 0: 15000.
                            The file store needs none and ignores it */
    const char *command; /* what runs under the lock, shown to others */
    const char *note;    /* free text, shown to others */

    /* Called once for every change of a lock's state.  `why` is 0 or the code
     * that ended the wish: HF_ETIMEOUT with HF_IDLE, HF_ELOST with HF_LOST... */
    void (*on_state)(struct hf_lock *lock, enum hf_state state, int why, void *data);
    /* Called for every request to the store and its answer, one line each. */
    void (*on_trace)(const char *text, void *data);
    void *data;

    /* hf_open() has no handle to ask when it fails: it writes here if set. */
    char  *error;
    size_t error_size;
};

/* clang-format off */
#define HF_OPTIONS_INIT { .size = sizeof(struct hf_options) }
/* clang-format on */

/* Open a session.  `url` NULL or "": $HOLDFAST_URL if set, else the file
 * holdfast/locks.db in $XDG_STATE_HOME or ~/.local/state.
 *
 *     sqlite:PATH      a file on this machine.  ?force=1 allows file systems on
 *                      which it may be unsafe
 *     memory:NAME      inside this process, for tests
 *
 * Opening a server's store does not wait for it: the first call that needs it
 * does, within its own time limit. */
HF_API HF_CHECK int hf_open(const char *url, const struct hf_options *options,
                            struct hf_client **ret);

/* Release and free every lock still there, end the session, free the client. */
HF_API void hf_close(struct hf_client *client);

/* About the last failure on this client.  The text is the calling thread's
 * until its next hf_errmsg(). */
HF_API const char *hf_errmsg(struct hf_client *client);

/* ---- Locks -----------------------------------------------------------------
 *
 * Constructors differ in who excludes whom; all that follows is the same.
 * They only make a handle; the store is not asked.
 *
 * A name is 1 to 255 bytes of UTF-8 without control characters, without '/',
 * without "..", and is not ".". */

/* One holder at a time, first come first served. */
HF_API HF_CHECK int hf_mutex(struct hf_client *client, const char *name,
                             struct hf_lock **ret);

/* Readers share, a writer is alone, first come first served. */
HF_API HF_CHECK int hf_reader(struct hf_client *client, const char *name,
                              struct hf_lock **ret);
HF_API HF_CHECK int hf_writer(struct hf_client *client, const char *name,
                              struct hf_lock **ret);

/* Holders whose weights add up to `capacity` at most.  Each has a slot number,
 * 0 to capacity - 1, that no other holder has at that time. */
HF_API HF_CHECK int hf_semaphore(struct hf_client *client, const char *name,
                                 uint32_t capacity, uint32_t weight,
                                 struct hf_lock **ret);

/* One holder at a time, no queue: whoever comes first when it is free. */
HF_API HF_CHECK int hf_claim(struct hf_client *client, const char *name,
                             struct hf_lock **ret);

/* Gives the lock up first if need be.  Does not wait for the store. */
HF_API void hf_lock_free(struct hf_lock *lock);

/* Text shown to others from the next acquire on; NULL: the client's. */
HF_API int hf_set_note(struct hf_lock *lock, const char *note);

/* Let any thread release what another acquired.  Then nothing is reentrant:
 * every acquire waits until the handle is free.  Only while idle. */
HF_API int hf_set_any_thread(struct hf_lock *lock, bool any_thread);

/* Wait up to `timeout_ms`: 0 tries once and never queues (HF_EBUSY), negative
 * waits for ever.  The limit covers everything: connecting, queueing, cleaning
 * up.  The thread that holds the handle may acquire it again: it counts, asks
 * nobody, and needs as many releases.  Other threads wait for the handle. */
HF_API HF_CHECK int hf_acquire(struct hf_lock *lock, int64_t timeout_ms);

/* 0 only if the lock was yours until now.  HF_ELOST: it was not, and what you
 * did under it was not protected to the end; the handle is idle again. */
HF_API int hf_release(struct hf_lock *lock);

/* The same without waiting; on_state or hf_state() tells how it went.  A lock
 * taken so belongs to no thread: any may release it. */
HF_API HF_CHECK int hf_acquire_start(struct hf_lock *lock, int64_t timeout_ms);
HF_API int          hf_release_start(struct hf_lock *lock);

/* End every wait for this handle with HF_ECANCELED, from any thread.  A lock
 * already held stays held. */
HF_API int hf_cancel(struct hf_lock *lock);

HF_API const char   *hf_name(const struct hf_lock *lock);
HF_API enum hf_state hf_state(const struct hf_lock *lock);
HF_API int           hf_why(const struct hf_lock *lock);  /* of the last change */
HF_API uint64_t      hf_token(const struct hf_lock *lock); /* 0 unless held */
HF_API int           hf_slot(const struct hf_lock *lock);  /* -1 unless held */

/* How long the lock is surely yours yet, in ms, by this process's own clock;
 * 0: stop now; INT64_MAX: as long as this process lives.  Reads memory and the
 * clock only, so call it before every step that matters. */
HF_API int64_t hf_left_ms(const struct hf_lock *lock);

/* A descriptor that becomes readable when the lock is lost, or when its time
 * runs out, even if nobody drives the client.  Poll it; it stays the lock's. */
HF_API HF_CHECK int hf_lost_fd(struct hf_lock *lock);

/* ---- Looking at lines ------------------------------------------------------ */

/* One place in a line.  Strings are the report's. */
struct hf_entry {
    const char *name;    /* of the lock */
    const char *kind;    /* mutex, reader, writer, semaphore, claim */
    bool        held;    /* else waiting */
    uint64_t    token;   /* names this place in hf_break() */
    int64_t     since;   /* held or queued since, microseconds since 1970 */
    uint32_t    weight;
    uint32_t    capacity; /* UINT32_MAX for readers and writers */
    int         slot;    /* -1: none */
    const char *host;    /* what follows is "" or 0 when unknown */
    const char *user;
    int64_t     pid;
    const char *command;
    const char *note;
};

/* Entries sorted by name, then first come first served. */
struct hf_report {
    const struct hf_entry *entry;
    size_t                 count;
};

/* Who holds and who waits for `name`; NULL: for every name in the store. */
HF_API HF_CHECK int hf_inspect(struct hf_client *client, const char *name,
                               int64_t timeout_ms, struct hf_report **ret);
HF_API void         hf_report_free(struct hf_report *report);

/* Wait until `name` may look different from `seen`, then return as hf_inspect()
 * does.  `seen` NULL: at once. */
HF_API HF_CHECK int hf_watch(struct hf_client *client, const char *name,
                             const struct hf_report *seen, int64_t timeout_ms,
                             struct hf_report **ret);

/* Take the place `token` in `name` away from whoever has it.  A holder finds
 * itself LOST, a waiter queues again.  HF_ENOTFOUND: that place is gone; no
 * other is touched. */
HF_API HF_CHECK int hf_break(struct hf_client *client, const char *name, uint64_t token,
                             int64_t timeout_ms);

/* ---- Driving by your own loop (HF_NO_KEEPER) -------------------------------- */

/* Poll this for POLLIN; it is the same as long as the client lives. */
HF_API HF_CHECK int hf_fd(struct hf_client *client);

/* Milliseconds until hf_process() wants to be called at the latest; -1: never. */
HF_API int hf_timeout_ms(struct hf_client *client);

/* Do what there is to do, without waiting, and call the callbacks. */
HF_API int hf_process(struct hf_client *client);

/* ---- For those who guard a holder ------------------------------------------- */

/* Descriptors that keep this session alive as long as any process has a copy
 * open (file store), so that a guardian outlives a killed holder.  Returns how
 * many were written to `fds`, 0 if the store works by leases: then only
 * hf_left_ms() counts.  They stay the client's: pass copies on, close none. */
HF_API int hf_lifeline(struct hf_client *client, int *fds, int size);

#ifdef __cplusplus
}
#endif

#endif
