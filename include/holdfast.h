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
 * Results.  A function that can fail returns 0 or a negative HF_E... code; on
 * failure it leaves its outputs untouched.  hf_errmsg() tells a person what
 * went wrong and what to do.  A comment names the codes that are special to its function.
 * Besides, any function can return HF_EFORK, HF_ENOMEM and HF_EINVAL, one that returns a
 * descriptor HF_ESTORE (there are too many), and one that has a time limit, or opens a store,
 * whatever the store answers: HF_EDOWN, HF_ETIMEOUT, HF_EDENIED, HF_EFULL, HF_ECORRUPT,
 * HF_EUNSUPPORTED, HF_ENOTFOUND, HF_ESTORE.  enum hf_error tells what they mean.
 *
 * Time limits.  `timeout_ms` negative waits for ever.  0 asks once, and waits for
 * nothing but the answer: 5 s at most, and 1 s if every server of the URL refuses the
 * connection; then it fails with HF_EDOWN.  Any other limit covers everything: connecting,
 * queueing, cleaning up.  A server that is away may be back in that time.
 *
 * Ownership.  What a constructor gives you is yours to free: locks with
 * hf_lock_free(), reports with hf_report_free(), findings with
 * hf_findings_free(), the client last with hf_close().  Strings passed in are
 * copied.
 *
 * NULL.  A client, lock or election that is NULL is refused with HF_EINVAL; calls that
 * return no code answer as for a lock that nobody wants (HF_IDLE, token 0, nothing left).
 * Freeing NULL is fine.  So is NULL for options, and for text whose description says so.
 * A result that has nowhere to go (`ret` is NULL) is HF_EINVAL.  Pointers to what was freed
 * cannot be told from good ones: they are yours to avoid.
 *
 * Growth.  Structs get new members at their end, and a program built before goes on
 * working with the library built after.  So structs that you make tell their size, and
 * start from their ..._INIT; those that we make come as pointers, one for each, as in
 * report->entry[i]->name.
 *
 * Threads.  With the keeper thread (the default) every function may be called
 * from any thread, short of freeing what another thread is using.  The same is
 * true with HF_NO_KEEPER; then you must call hf_process() while a lock is held
 * or waited for.  Callbacks come from the keeper or from hf_process(), one at a
 * time, with no lock of ours held: they may call anything but hf_close().  on_trace and
 * on_will are different: they come in the middle of the work with the store, from the thread
 * that does it, and must not call the library.
 * Blocking calls are not cancellation points.
 *
 * Fork.  A child must not use what its parent opened: calls there return
 * HF_EFORK and do nothing, and nothing the child does can end the parent's
 * locks.  What the parent held is HF_LOST there, with HF_EFORK for hf_why(); all else is
 * HF_IDLE.  exec() closes all our descriptors.
 *
 * Signals, output.  The library installs no handlers, never prints, never
 * exits.  A SIGPIPE or SIGXFSZ that it causes does not reach your program: a file that
 * may not grow any more (RLIMIT_FSIZE) is HF_EFULL.  hf_left_ms() may be called from a
 * signal handler.
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

/* ---- Results: what a call returns, and what that means ------------------ */

/* What a call returns if it fails. */
enum hf_error {
    HF_EINVAL = -1,        /* an argument makes no sense; the message says which */
    HF_ENOMEM = -2,        /* out of memory */
    HF_EBUSY = -3,         /* somebody else has it, and you asked not to wait */
    HF_ETIMEOUT = -4,      /* it was not done in the time given */
    HF_ECANCELED = -5,     /* hf_cancel() was called */
    HF_ELOST = -6,         /* it was yours, but not to the end: stop, and say so */
    HF_EDOWN = -7,         /* the store cannot be reached, or does not answer */
    HF_EDENIED = -8,       /* the store refuses you: permissions, password */
    HF_EFORK = -9,         /* opened by the parent process; open your own */
    HF_EOWNER = -10,       /* another thread holds this handle */
    HF_ESTATE = -11,       /* the handle is in no state for this call */
    HF_EMISMATCH = -12,    /* others use this name as another kind of lock */
    HF_EFULL = -13,        /* no room in the store: disk, memory or queue limit */
    HF_ECORRUPT = -14,     /* the store's data make no sense; nothing was changed */
    HF_EUNSUPPORTED = -15, /* not built in, or the store cannot do this */
    HF_ENOTFOUND = -16,    /* the place, file or library is not there (any more) */
    HF_ESTORE = -17,       /* any other failure of the store */
    HF_EDEADLOCK = -18,    /* this thread would wait for itself */
    HF_EEXHAUSTED = -19,   /* the store's numbers for this name are used up; the
                              message says how to start afresh */
};

/* "HF_EBUSY", and a short sentence; never NULL. */
HF_API const char *hf_errname(int code);
HF_API const char *hf_strerror(int code);

/* May the same call succeed later, unchanged?  Is a lock gone that you had? */
HF_API bool hf_err_retryable(int code);
HF_API bool hf_err_lost(int code);

/* ---- Library: which version it is, and which stores it has -------------- */

/* "0.1.0", and the store schemes built in: "sqlite system memory zk zks redis ...". */
HF_API const char *hf_version(void);
HF_API const char *hf_stores(void);

/* The SQL that makes what a store needs in a database, for an administrator to run.  With
 * a `role`, it also lets that role use it.  `scheme` is one of hf_stores(), or "system";
 * HF_EUNSUPPORTED: it is none of them.  *ret is yours to free(); NULL if there is no SQL for
 * it.  Stores make what they need themselves where they may. */
HF_API HF_CHECK int hf_schema(const char *scheme, const char *role, char **ret);

/* ---- Options: what a client is opened with, and what it tells ----------- */

struct hf_client;
struct hf_lock;

/* Where a lock handle stands.  (In C++, too, write `enum hf_state`: a function has the
 * same name.) */
enum hf_state {
    HF_IDLE,    /* not wanted */
    HF_WAITING, /* wanted, not yet had */
    HF_HELD,    /* yours, for hf_left_ms() yet */
    HF_LEAVING, /* given up, the store is being told */
    HF_LOST,    /* was yours and is no longer; hf_release() acknowledges it */
};

/* How the client gets on with its store. */
enum hf_link {
    HF_LINK_DOWN, /* it cannot be reached, and is tried again; what is held stays so
                     for hf_left_ms() */
    HF_LINK_UP,
    HF_LINK_LOST, /* the session is dead: what was held is HF_LOST, what was waited
                     for queues again.  A new session follows by itself */
};

/* What a client does. */
enum hf_flags {
    HF_NO_KEEPER = 1 << 0, /* no thread of ours: you call hf_process() */
    HF_INIT = 1 << 1,      /* make what the store's URL names, if clients do not make it
                              by themselves: the chroot in ZooKeeper, system: */
    HF_WARDEN = 1 << 2,    /* if this process dies, have its locks given up at once; see
                              `warden` */
};

/* Start from HF_OPTIONS_INIT; zero means the default everywhere. */
struct hf_options {
    size_t      size;    /* sizeof(struct hf_options): lets the struct grow.  Members that
                            the library is too old to know must be zero */
    unsigned    flags;   /* of enum hf_flags */
    int         ttl_ms;  /* how long a dead holder blocks the rest; 0: 15000.
                            The file store needs none and ignores it */
    const char *command; /* what runs under the lock, shown to others */
    const char *note;    /* free text, shown to others */

    /* Called once for every change of a lock's state.  `why` is 0 or the code
     * that ended the wish: HF_ETIMEOUT with HF_IDLE, HF_ELOST with HF_LOST... */
    void (*on_state)(struct hf_lock *lock, enum hf_state state, int why, void *data);
    /* Called when somebody asks for a lock you hold; see hf_ask(). */
    void (*on_ask)(struct hf_lock *lock, const char *reason, void *data);
    /* Called when a waiting lock's place in line changed; see hf_set_follow(). */
    void (*on_place)(struct hf_lock *lock, int64_t ahead, void *data);
    /* Called for every request to the store and its answer, one line each, by the
     * thread that works with the store, in the middle of that work: it must not call
     * the library. */
    void (*on_trace)(const char *text, void *data);
    void *data;

    /* If set, hf_open() writes its message here when it fails: then there is no client
     * for hf_errmsg(). */
    char  *error;
    size_t error_size;

    /* Called when the store is first reached, when it cannot be reached, when the reason
     * for that changes, when it is back, and when the session was lost.  `why` tells a
     * person the server and the reason: "Redis at db1:6379 cannot be reached: connection
     * refused"; "" with HF_LINK_UP.  It is lent for the call. */
    void (*on_link)(struct hf_client *client, enum hf_link link, const char *why,
                    void *data);

    /* `command` for stores that others than this user can look at: servers, a group's
     * file.  NULL: the same. */
    const char *public_command;

    /* With HF_WARDEN: the holdfast program, by its absolute path.  NULL: where it is
     * installed together with the library.  PATH and the environment are never asked.
     *
     * hf_open() starts it as a small process of its own, the warden, one for each client.
     * It waits for the death of this process: by SIGKILL, a crash, abort(), lack of memory,
     * or an exit without hf_close().  Then it ends the session by its will (see hf_will()),
     * and who waits need not wait for the lease.  hf_close() dismisses it, if the server
     * could be told of all that is given up; else it has to tell.  Your program does not
     * notice it: no SIGCHLD, nothing for wait() to find.  (If it is a subreaper, the warden
     * is one of the orphans that it takes in.)
     *
     * The lease is needed all the same: when the machine dies, or its network, or both
     * processes are killed at once, as is all of a container with its process 1.  A process
     * that is stopped is not dead, nor one that has called exec().  Nor is one whose forked
     * child lives, has not called exec() and keeps its descriptors: it may still act under
     * the lock.
     *
     * The warden has the rights and the environment of your program.  So a program with
     * more rights than its caller (set-user-ID) is refused: HF_EDENIED.  A forked child
     * that does not act under the lock may say so by hf_close(), which does nothing else
     * there.
     *
     * The file store and memory need none: there it is not started. */
    const char *warden;

    /* Called with the will of each session before anything is asked in it, and each time
     * the store is reached again; see hf_will().  So who hands it on is never too late.
     * The bytes are lent for the call.  By the thread that works with the store, in the
     * middle of that work: it must not call the library.  Not called on the file store
     * and memory, where a session ends with its process. */
    void (*on_will)(const void *will, size_t size, void *data);
};

#ifdef __cplusplus
static inline struct hf_options hf_options_init()
{
    struct hf_options options = hf_options();

    options.size = sizeof options;
    return options;
}
#define HF_OPTIONS_INIT hf_options_init()
#else
/* clang-format off */
#define HF_OPTIONS_INIT { .size = sizeof(struct hf_options) }
/* clang-format on */
#endif

/* ---- Client: one session in one store ----------------------------------- */

/* Open a session.  `url` NULL or "": $HOLDFAST_URL if set, else your own file
 * holdfast/locks.db in $XDG_STATE_HOME or ~/.local/state; without HOME the home
 * directory is the one in the user database.  Another user, or another XDG_STATE_HOME,
 * means another file: hf_where() tells which.  A program with more rights than its caller
 * (set-user-ID) takes nothing from the environment.
 *
 *     sqlite:PATH      a file on this machine, with one name: HF_EDENIED if it has hard links,
 *                      or is mounted by itself; mount its folder
 *                      ?group=NAME   makes it one that this group shares: its folder
 *                                    2770, its files 0660.  Later the plain path is enough
 *                      ?force=1      allows file systems on which it may be unsafe
 *     system:          the file of the whole machine, /var/lib/holdfast/locks.db, for root
 *                      and the members of one group.  Only root makes it, by HF_INIT or
 *                      `holdfast init --system`; else hf_open() fails with HF_ENOTFOUND
 *                      ?group=NAME   with HF_INIT: for that group, and not "holdfast"
 *     zk://HOST:PORT,HOST:PORT.../CHROOT
 *                      ZooKeeper servers; in one line with Curator and kazoo.
 *                      ?session=30s  how long a dead holder blocks the rest, not ttl_ms
 *                      ?auth=FILE    has "user:password"; or //user:password@HOST, or
 *                                    $HOLDFAST_ZK_AUTH
 *                      ?acl=creator, open, or scheme:id,scheme:id
 *                      ?style=kazoo  writes kazoo's names
 *     zks://...        the same over TLS
 *                      ?ca=FILE      whom to trust
 *                      ?cert=FILE, ?key=FILE  who we are
 *     redis://HOST:PORT/DB
 *                      a Redis or Valkey server, or any of a cluster, or several of it:
 *                      HOST,HOST; rediss: the same over TLS, with ?ca, ?cert and ?key
 *                      ?ttl=30s      instead of ttl_ms; the same for all clients
 *                      ?prefix=NAME  of its keys
 *                      ?replicas=N   that must have heard of a grant
 *                      ?evicting=yes  takes a server that may evict keys
 *                      ?auth=FILE    has "user:password"; or //user:password@HOST, or
 *                                    $HOLDFAST_REDIS_AUTH
 *     redis+unix:PATH  the same by a Unix socket.  ?db=N
 *     redis+sentinel://HOST:PORT,HOST:PORT.../SERVICE
 *                      the master that most Sentinels name: give all of them.  ?db=N
 *     postgres://USER@HOST:PORT,HOST:PORT.../DATABASE
 *                      a PostgreSQL database; postgresql: is the same.  With all that
 *                      libpq knows, as ?sslmode=, and $PGPASSWORD or ~/.pgpass
 *                      ?ttl=30s      instead of ttl_ms
 *                      ?polling=yes  never LISTEN, as behind a pooler
 *                      ?history=N    on a file, Redis or PostgreSQL: from now on the store
 *                      keeps the last N things that happened, see hf_history(); 0: none
 *     memory:NAME      inside this process, for tests.  ?lease=MS gives sessions a
 *                      lease, as servers do
 *
 * Opening a store on a server does not wait for the server: the first call that
 * needs it does, within its own time limit.
 *
 * zks: and rediss: need OpenSSL, Redis hiredis, PostgreSQL libpq.  They are loaded by the
 * first hf_open() that needs them; a thread that forks waits meanwhile.  HF_ENOTFOUND: the
 * message tells which is missing, and what to install. */
HF_API HF_CHECK int hf_open(const char *url, const struct hf_options *options,
                            struct hf_client **ret);

/* Load what hf_open() would load for this URL, and open nothing.  After that no library is
 * read from disk for it any more: for programs that call chroot(), give up rights, or must
 * go on when memory is short.  Of the URL only the scheme counts.  HF_ENOTFOUND as above.
 * On failure `error` (unless it is NULL) tells why. */
HF_API HF_CHECK int hf_load(const char *url, char *error, size_t error_size);

/* Release and free every lock that is left, end the session, free the client.  Waits
 * for a callback that is under way; after that none comes any more. */
HF_API void hf_close(struct hf_client *client);

/* About the last failure of the calling thread on this client, also if other threads failed
 * since; if it had none there, about the last of all.  A thread that has called
 * hf_acquire_start() or hf_process() is told of locks that were started and failed, too.
 * With several clients ask before the next call that may fail.  The text belongs to the
 * calling thread, until its next hf_errmsg(). */
HF_API const char *hf_errmsg(struct hf_client *client);

/* Which store it is: its URL, without passwords, so that it may be shown; the default
 * store has one, too.  Lent until hf_close(). */
HF_API const char *hf_where(const struct hf_client *client);

/* ---- Locks: mutex, readers and writers, semaphore, claim -------------------
 *
 * The constructors differ in who excludes whom; all calls after that are the same.
 * They only make a handle; the store is not asked.
 *
 * A name is 1 to 255 bytes of UTF-8 without control characters, without '/',
 * without "..", and is not ".": else HF_EINVAL. */

/* One holder at a time, first come first served. */
HF_API HF_CHECK int hf_mutex(struct hf_client *client, const char *name,
                             struct hf_lock **ret);

/* Readers share, a writer is alone, first come first served.
 *
 * A thread that holds the writer may take a reader of the same name and client
 * too: it is granted at once.  If the writer is released first, the reader keeps
 * its place: that is a downgrade.  The other way round, from reader to writer, two
 * would wait for each other: a thread that waits for that gets HF_EDEADLOCK, and with a
 * timeout of 0 HF_EBUSY, as from any lock that is held.
 * examples/rwlock.c is a program. */
HF_API HF_CHECK int hf_reader(struct hf_client *client, const char *name,
                              struct hf_lock **ret);
HF_API HF_CHECK int hf_writer(struct hf_client *client, const char *name,
                              struct hf_lock **ret);

/* Holders whose weights add up to `capacity` at most.  Each has a slot number,
 * 0 to capacity - 1, that no other holder has at that time.  examples/semaphore.c is a
 * program. */
HF_API HF_CHECK int hf_semaphore(struct hf_client *client, const char *name,
                                 uint32_t capacity, uint32_t weight,
                                 struct hf_lock **ret);

/* Turn a held writer into a reader, in place: readers that wait right behind it
 * join, a writer that waits does not slip in.  The handle stays held, and is a
 * writer again when it is next acquired.
 *
 * HF_ELOST: it is lost, or the store did not answer as long as it was surely yours.
 * HF_ESTATE: it is not held.  HF_EOWNER: another thread holds it.  HF_EINVAL: it is no
 * writer. */
HF_API int hf_downgrade(struct hf_lock *writer);

/* One holder at a time, no queue: when it is free, the first to come gets it. */
HF_API HF_CHECK int hf_claim(struct hf_client *client, const char *name,
                             struct hf_lock **ret);

/* Several locks as one: all are acquired, in an order of their names that is the
 * same for everybody so that nobody waits in a circle, within one time limit, or
 * none is.  It is held while all are, and lost when one is.  hf_token() is the
 * highest of theirs.  The locks stay yours, are not to be used by themselves
 * meanwhile, and must be idle when they are given; free this one first.  HF_EINVAL: one of
 * them is in use, has the name of another, is of another client or part of something else. */
HF_API HF_CHECK int hf_all_of(struct hf_lock *const *locks, size_t count,
                              struct hf_lock **ret);

/* Gives the lock up first if it is held or waited for.  Does not wait for the store.
 * Waits for a callback about this lock that is under way in another thread. */
HF_API void hf_lock_free(struct hf_lock *lock);

/* ---- Settings: how one lock behaves -----------------------------------------
 *
 * They can be changed only while the lock is idle: else HF_ESTATE. */

/* Text shown to others from the next acquire on; NULL: the client's. */
HF_API int hf_set_note(struct hf_lock *lock, const char *note);

/* Let any thread release what another acquired.  Then nothing is reentrant:
 * every acquire waits until the handle is free. */
HF_API int hf_set_any_thread(struct hf_lock *lock, bool any_thread);

/* Do not queue behind `max` others or more, but fail with HF_EFULL; 0: no limit. */
HF_API int hf_set_max_waiters(struct hf_lock *lock, uint32_t max);

/* Keep hf_ahead() up to date while waiting, and call on_place.  Costs a look at
 * the line at every change of it. */
HF_API int hf_set_follow(struct hf_lock *lock, bool follow);

/* ---- Acquire: take a lock, and give it back ----------------------------- */

/* Wait up to `timeout_ms` until the lock is yours; 0 tries once and never queues:
 * HF_EBUSY.  The thread that holds the handle may acquire it again: that is counted, asks
 * no store, and needs as many releases.  Other threads wait for the handle.  A process
 * that is stopped while it waits, as by Ctrl-Z, keeps its place and is granted the lock.
 * examples/mutex.c is a program.
 *
 * HF_ETIMEOUT: the time is over.  HF_ECANCELED: hf_cancel() was called.  HF_EDEADLOCK: this
 * thread holds the name by another handle.  HF_EMISMATCH: others use the name as another kind
 * of lock.  HF_EFULL: see hf_set_max_waiters(), or the store has no room.  HF_ELOST: the handle
 * is lost, and hf_release() has to acknowledge that; or it was lost as soon as it was granted,
 * and is idle again.  HF_EEXHAUSTED: the store has no more numbers for this name.  HF_EDOWN,
 * HF_EDENIED, HF_ECORRUPT, HF_ESTORE and the like: the store does not answer, or refuses.
 *
 * After a failure the handle may be HF_LEAVING for a moment: hf_acquire() waits for that,
 * hf_acquire_start() is HF_ESTATE. */
HF_API HF_CHECK int hf_acquire(struct hf_lock *lock, int64_t timeout_ms);

/* Give it back.  0 only if the lock was yours until now.
 *
 * HF_ELOST: it was not, and what you did under it was not protected to the end; the handle is
 * idle again.  HF_EDOWN: it was yours when you called, but the store could not be told as long
 * as that was sure.  The handle is HF_LEAVING, and the store is told as soon as it answers;
 * else others have the lock when the lease ends.  HF_ESTATE: it is not held.  HF_EOWNER:
 * another thread holds it, see hf_set_any_thread(). */
HF_API int hf_release(struct hf_lock *lock);

/* The same without waiting; on_state or hf_state() tells how it went.  A lock that is
 * taken in this way belongs to no thread: any thread may release it.  What is known without
 * the store is told at once: HF_ESTATE (hf_acquire_start(): the handle is in use, or leaving),
 * HF_EOWNER, HF_ELOST. */
HF_API HF_CHECK int hf_acquire_start(struct hf_lock *lock, int64_t timeout_ms);
HF_API int          hf_release_start(struct hf_lock *lock);

/* End every wait for this handle with HF_ECANCELED, from any thread.  A lock
 * already held stays held, and 0 is returned all the same. */
HF_API int hf_cancel(struct hf_lock *lock);

/* In whose name the calling thread acquires and releases: its own, unless it said otherwise.
 * A thread that has to stay free, as for signals that a runtime handles there, can have
 * another one wait: the helper calls hf_act_for() with the number that hf_acting_for() gave
 * in that thread, and what it acquires is that thread's.  One of the two at a time may use
 * the lock, but for hf_cancel().  hf_errmsg() tells each of them its own failures.  0: in its
 * own name again. */
HF_API uint64_t hf_acting_for(void);
HF_API void     hf_act_for(uint64_t owner);

/* ---- State: where a lock stands ----------------------------------------- */

/* The name that the lock was made with; its state; and `why` of the last change, as
 * on_state is told. */
HF_API const char   *hf_name(const struct hf_lock *lock);
HF_API enum hf_state hf_state(const struct hf_lock *lock);
HF_API int           hf_why(const struct hf_lock *lock);

/* The number of the grant, higher than every earlier one of that name; 0 unless held. */
HF_API uint64_t hf_token(const struct hf_lock *lock);

/* The slot number that a semaphore gave; -1 unless held. */
HF_API int hf_slot(const struct hf_lock *lock);

/* How many places are ahead of ours, as far as known: 0 when held, -1 unless
 * waiting or held. */
HF_API int64_t hf_ahead(const struct hf_lock *lock);

/* How long the lock is surely yours yet, in ms, by this process's own clock;
 * 0: stop now; INT64_MAX: as long as this process lives.  Reads memory and the
 * clock only, so call it before every step that matters. */
HF_API int64_t hf_left_ms(const struct hf_lock *lock);

/* A descriptor that becomes readable when the lock is lost, or when its time
 * runs out, even if nobody drives the client.  Poll it, do not close it. */
HF_API HF_CHECK int hf_lost_fd(struct hf_lock *lock);

/* ---- Lines: who holds, and who waits ------------------------------------ */

/* One place in a line.  Strings are the report's. */
struct hf_entry {
    const char *name;  /* of the lock */
    const char *kind;  /* mutex, reader, writer, semaphore, claim; or unknown: what the
                          store says of it makes no sense.  Nobody gets past such a
                          place, HF_ECORRUPT, until it is gone or hf_break() removes it */
    bool        held;  /* else waiting */
    uint64_t    token; /* names this place in hf_break() */
    int64_t     since; /* held or queued since, microseconds since 1970 */
    uint32_t    weight;
    uint32_t    capacity; /* UINT32_MAX for readers and writers; 0, as the weight, of
                             an unknown one */
    int         slot;     /* -1: none */
    const char *host;     /* what follows is "" or 0 when unknown */
    const char *user;
    int64_t     pid;
    const char *command;
    const char *note;
    int64_t     left_ms; /* how long its session lasts if it is not renewed any more, as
                             the store has it; INT64_MAX: as long as its process lives;
                             -1: the store does not tell */
    const char *version; /* of the Holdfast that took this place: "0.1.0"; "": unknown */
};

/* Entries sorted by name, then first come first served. */
struct hf_report {
    const struct hf_entry *const *entry; /* entry[0]->name, entry[1]->name... */
    size_t                        count;
};

/* Who holds and who waits for `name`; NULL: for every name in the store. */
HF_API HF_CHECK int hf_inspect(struct hf_client *client, const char *name,
                               int64_t timeout_ms, struct hf_report **ret);

/* Free a report, and all that is in it. */
HF_API void hf_report_free(struct hf_report *report);

/* Wait until `name` looks different from `seen`, then return as hf_inspect() does;
 * HF_ETIMEOUT if it does not, with a limit of 0 at once.  `seen` NULL: at once. */
HF_API HF_CHECK int hf_watch(struct hf_client *client, const char *name,
                             const struct hf_report *seen, int64_t timeout_ms,
                             struct hf_report **ret);

/* Take the place `token` in `name` away from its owner.  A holder is HF_LOST then, a
 * waiter queues again.  HF_ENOTFOUND: that place is gone; no other is touched. */
HF_API HF_CHECK int hf_break(struct hf_client *client, const char *name, uint64_t token,
                             int64_t timeout_ms);

/* ---- Survey: all lines, as they change --------------------------------------
 *
 * For programs that show what goes on in a store, as `holdfast top` does.  First every
 * line is told, then each one that looks different.  The store tells which those are, so
 * a quiet store costs nothing, however many lines it has; one that cannot tell is looked
 * at once a second.  (All of ours can.) */

struct hf_survey;

/* Start from HF_SURVEY_INIT. */
struct hf_survey_options {
    size_t size;     /* as that of struct hf_options */
    int    pause_ms; /* between two looks at the store, at least; 0: 100.  What comes and
                        goes in between is not seen: hf_history() may have it */
    /* A line is there, or looks different.  `line` has its places, none if nobody is in it
     * any more.  It is yours to free; the name is lent for the call. */
    void (*on_line)(struct hf_survey *survey, const char *name, struct hf_report *line,
                    void *data);
    /* All that was seen in one look has been told: the first time, every line. */
    void (*on_look)(struct hf_survey *survey, void *data);
    void *data;
};

#ifdef __cplusplus
static inline struct hf_survey_options hf_survey_init()
{
    struct hf_survey_options options = hf_survey_options();

    options.size = sizeof options;
    return options;
}
#define HF_SURVEY_INIT hf_survey_init()
#else
/* clang-format off */
#define HF_SURVEY_INIT { .size = sizeof(struct hf_survey_options) }
/* clang-format on */
#endif

/* Begin one.  HF_ESTATE: this client has one already. */
HF_API HF_CHECK int hf_survey_new(struct hf_client               *client,
                                  const struct hf_survey_options *options,
                                  struct hf_survey              **ret);

/* End it, before hf_close(), and not from inside one of its callbacks. */
HF_API void hf_survey_free(struct hf_survey *survey);

/* ---- History: what happened to locks ----------------------------------------
 *
 * A store can keep the last things that happened in it: a file the last 1000, Redis and
 * PostgreSQL none, until somebody opens it with ?history=N in its URL, which holds for all
 * its users.  With ?history=0 it keeps none; an acquire and release in a file is some ten
 * microseconds quicker then. */

/* One thing that happened to one place in a line.  Its strings are those of the records. */
struct hf_record {
    uint64_t    number; /* rising in each store, by one for each record */
    int64_t     time;   /* microseconds since 1970, by the clock of the store */
    const char *what;   /* entered: it queues; granted; released: by its holder; left: it
                           waited, and is gone; lost: its holder's session ended; broken;
                           asked: see hf_ask(); lessened: see hf_downgrade(); unknown */
    const char *name;   /* of the lock; what follows is as in struct hf_entry */
    uint64_t    token;
    const char *kind;
    int         slot;
    const char *host;
    const char *user;
    int64_t     pid;
    const char *command;
    const char *note;
    const char *reason; /* asked: why; broken: "by USER@HOST:PID", as it is if a waiter's
                           place was; else "" */
};

/* Oldest first. */
struct hf_records {
    const struct hf_record *const *record; /* record[0]->what... */
    size_t                         count;
    uint64_t last; /* number of the newest record there is: hand it to hf_history() */
};

/* What happened after the record of that number (0: all that is kept) to `name`, or to
 * every lock if that is NULL.  HF_ENOTFOUND: this store keeps no history.  HF_EUNSUPPORTED:
 * it cannot. */
HF_API HF_CHECK int hf_history(struct hf_client *client, const char *name, uint64_t after,
                               int64_t timeout_ms, struct hf_records **ret);

/* Free records, and all that is in them. */
HF_API void hf_records_free(struct hf_records *records);

/* ---- Checks: is a lock still held, is the store well -------------------- */

/* How bad it is. */
enum hf_level {
    HF_FINE,    /* as it should be */
    HF_WARNING, /* works, but should be seen to */
    HF_FAULT,   /* does not work */
};

/* One thing found out about a store. */
struct hf_finding {
    enum hf_level level;
    const char   *about;  /* a word or two: "version", "session" */
    const char   *text;   /* what was found */
    const char   *advice; /* what to do about it; "" when nothing */
};

/* What was found out.  The strings belong to it. */
struct hf_findings {
    const struct hf_finding *const *finding; /* finding[0]->text... */
    size_t                          count;
};

/* Is the lock I hold still mine?  Asks the store once, with all the authority it has.
 * 0: yes; and on a store with leases the lease was renewed, so hf_left_ms() is as long
 * as it gets.  HF_ELOST: it is not, and its state is HF_LOST.  HF_EDOWN, HF_ETIMEOUT:
 * nobody knows; where it matters, stop as if it were lost.  HF_ESTATE: it is not
 * held.  From any thread. */
HF_API HF_CHECK int hf_check(struct hf_lock *lock, int64_t timeout_ms);

/* The same for others than the holder, if they know its token: a child process, or
 * what the lock protects.  Does `token` still hold `name`?  0: yes.  HF_ELOST: no, or
 * not yet. */
HF_API HF_CHECK int hf_verify(struct hf_client *client, const char *name, uint64_t token,
                              int64_t timeout_ms);

/* Look the store over, and the line of `name` unless that is NULL.  A store that
 * cannot be reached is no failure of this call but a finding: "link", HF_FAULT. */
HF_API HF_CHECK int hf_doctor(struct hf_client *client, const char *name,
                              int64_t timeout_ms, struct hf_findings **ret);

/* Free findings, and all that is in them. */
HF_API void hf_findings_free(struct hf_findings *findings);

/* ---- Asking: ask the holder to give a lock up --------------------------- */

/* Ask all holders of `name` to give it up, and say why (NULL: no reason).  Nothing is
 * taken away: the holders decide.  The same words again are not told twice.  Returns
 * how many holders were asked, or HF_ENOTFOUND if nobody holds it. */
HF_API HF_CHECK int hf_ask(struct hf_client *client, const char *name, const char *reason,
                           int64_t timeout_ms);

/* Has somebody asked for this lock since it was acquired?  Copies the last reason
 * to `reason`, cut to `size`; nothing is copied if `size` is 0 or `reason` is NULL. */
HF_API bool hf_asked(struct hf_lock *lock, char *reason, size_t size);

/* A descriptor that is readable from when the lock is asked for until it is
 * released.  Poll it, do not close it. */
HF_API HF_CHECK int hf_ask_fd(struct hf_lock *lock);

/* ---- Statistics: how often a lock was taken, and for how long ----------- */

/* Bucket i counts what took less than 2^i microseconds, and not less than
 * 2^(i-1); the last one counts the rest. */
#define HF_BUCKETS 40

/* The one struct that never grows: it stands inside another. */
struct hf_histogram {
    uint64_t count;
    uint64_t total_us;
    uint64_t max_us;
    uint64_t bucket[HF_BUCKETS];
};

/* What became of one handle since it was made. */
struct hf_stats {
    uint64_t            acquired;
    uint64_t            busy; /* not acquired, by reason: HF_EBUSY... */
    uint64_t            timeouts;
    uint64_t            canceled;
    uint64_t            failed;
    uint64_t            released;
    uint64_t            lost;
    struct hf_histogram wait;   /* from wish to grant, of what was acquired */
    struct hf_histogram hold;   /* from grant to release or loss */
    uint64_t            broken; /* of `lost`: the session lived, so somebody took it */
    int64_t             least_left; /* microseconds: the least that hf_left_ms() ever had
                                       left while it was held; INT64_MAX: no deadline */
};

/* Statistics of this handle.  `size` is sizeof *ret: lets the struct grow. */
HF_API void hf_get_stats(struct hf_lock *lock, struct hf_stats *ret, size_t size);

/* How a client got on with its store since it was opened. */
struct hf_client_stats {
    uint64_t            connected; /* how often the store was reached, the first time
                                      included; the others are reconnects */
    uint64_t            lost;      /* sessions that ended before hf_close() */
    uint64_t            renewals;  /* of the lease, while something was held */
    uint64_t            late; /* of these: when less than half of the lease was left */
    struct hf_histogram round_trip; /* of requests that are answered at once */
};

/* Statistics of this client.  `size` is sizeof *ret: lets the struct grow. */
HF_API void hf_get_client_stats(struct hf_client *client, struct hf_client_stats *ret,
                                size_t size);

/* ---- Election: one leads, and everybody knows who --------------------------
 *
 * A mutex with manners: the holder leads, the rest queue, everybody can know who
 * leads.  Callbacks come one at a time, as all do; between `elected` and `deposed`
 * you lead.  `deposed` comes before anybody else can be elected, as far as clocks can
 * tell: at the deadline on a store with leases, and when you resign before the store
 * is told.  examples/election.c is a program. */

struct hf_election;

/* Start from HF_ELECTION_INIT. */
struct hf_election_options {
    size_t      size;    /* as that of struct hf_options */
    const char *note;    /* shown to the others, as hf_set_note() */
    bool        observe; /* only watch who leads, do not take part */
    bool        once;    /* do not queue again after being deposed */
    void (*elected)(struct hf_election *election, uint64_t token, void *data);
    /* `why`: 0 after resigning; HF_ELOST; or, if you did not lead, the error that ends
     * your part in the election. */
    void (*deposed)(struct hf_election *election, int why, void *data);
    /* `leader` is lent for the call; NULL: nobody leads. */
    void (*leader)(struct hf_election *election, const struct hf_entry *leader,
                   void *data);
    void *data;
};

#ifdef __cplusplus
static inline struct hf_election_options hf_election_init()
{
    struct hf_election_options options = hf_election_options();

    options.size = sizeof options;
    return options;
}
#define HF_ELECTION_INIT hf_election_init()
#else
/* clang-format off */
#define HF_ELECTION_INIT { .size = sizeof(struct hf_election_options) }
/* clang-format on */
#endif

/* Take part at once, or observe. */
HF_API HF_CHECK int hf_election_new(struct hf_client *client, const char *name,
                                    const struct hf_election_options *options,
                                    struct hf_election              **ret);

/* Leave, leading or not; before hf_close(), and not from inside one of its
 * callbacks.  Does not call `deposed`: you know. */
HF_API void hf_election_free(struct hf_election *election);

/* Do I lead?  By the clock, like hf_left_ms(). */
HF_API bool hf_election_leads(const struct hf_election *election);

/* The mutex underneath: hf_token(), hf_left_ms(), hf_lost_fd() of it. */
HF_API struct hf_lock *hf_election_lock(struct hf_election *election);

/* Step down, or out of the queue, until hf_election_join(). */
HF_API int hf_election_resign(struct hf_election *election);

/* Queue again after resigning or, with `once`, being deposed. */
HF_API int hf_election_join(struct hf_election *election);

/* The leader first, then those who would follow, in order; as hf_inspect(). */
HF_API HF_CHECK int hf_election_list(struct hf_election *election, int64_t timeout_ms,
                                     struct hf_report **ret);

/* ---- Loop: drive a client yourself (HF_NO_KEEPER) --------------------------
 *
 * examples/event_loop.c is a program. */

/* Poll this for POLLIN; it is the same as long as the client lives. */
HF_API HF_CHECK int hf_fd(struct hf_client *client);

/* Milliseconds until hf_process() wants to be called at the latest; -1: never. */
HF_API int hf_timeout_ms(struct hf_client *client);

/* Do what there is to do, without waiting, and call the callbacks. */
HF_API int hf_process(struct hf_client *client);

/* ---- Guarding: end the session of a process that has died --------------- */

/* Descriptors that keep this session alive as long as any process has a copy
 * open (file store), so that a guardian outlives a killed holder, or what it started does.
 * Nothing can be written by them to the files that others use.  Returns how
 * many descriptors were written to `fds`, 0 if the store works by leases: then only
 * hf_left_ms() counts.  They belong to the client: pass copies on, close none.  After a
 * loss there are new ones: ask again. */
HF_API int hf_lifeline(struct hf_client *client, int *fds, int size);

/* The will of a session: all that another process needs to end it.  Whoever sees that
 * this process is dead, and that nothing acts for it any more, need not wait for the
 * lease: it executes the will, and the next in line has the lock at once.
 *
 * Returns how many bytes the will has, and writes them to `ret` if `size` is enough for
 * that.  HF_EDOWN: there is no session yet; it begins when a call first asks the store for
 * something.  The file store begins it here, and makes what is missing of its files: any
 * other code says why that failed, as hf_acquire() would.  Each session has its own will:
 * `on_will` in the options hands out every one of them in time.  Keep it secret: it may hold
 * passwords of the store's URL. */
HF_API HF_CHECK int hf_will(struct hf_client *client, void *ret, size_t size);

/* End the session that a will is of, and all its locks, wherever its process is and
 * whatever it does.  Needs no client.  The store must be reached as the other process
 * reached it: with the same environment, and the same working directory if its URL has
 * relative paths.
 *
 * 0: that session is dead, by this or before; no other is touched.  A server that loses
 * data may forget this, too: an owner that is alive then has its session back.
 *
 * HF_EINVAL: this is no will, or a damaged one.  HF_EUNSUPPORTED: another version of
 * Holdfast wrote it, or the data in the store; or the store is in the memory of another
 * process.  HF_ENOTFOUND: the file that it is about is not there.  HF_ETIMEOUT, HF_EDOWN:
 * nobody knows; the lease will end it, and it may be tried again.  HF_EDENIED, HF_EFULL,
 * HF_ENOMEM, HF_ESTORE: the store refuses.  With a timeout it is tried until the time is
 * over, as that may change, but no longer than the lease lasts.  On failure `error` (unless
 * it is NULL) tells why. */
HF_API HF_CHECK int hf_execute(const void *will, size_t size, int64_t timeout_ms,
                               char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
