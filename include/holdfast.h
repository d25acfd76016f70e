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
 * Terms.  A client has one session in its store.  Every lock has a queue of places: the
 * first ones hold the lock, the others wait.  On a server a session has a lease, which
 * the client renews; if it does not, the server ends the session and removes its
 * places.  A token is a number that rises with every grant of a lock.
 *
 * Results.  A function that can fail returns 0 or a negative HF_E... code; on failure
 * it leaves its outputs untouched.  hf_errmsg() explains to a person what went wrong
 * and what to do.  The comment of a function names the codes that are special to it.
 * In addition, any function can return HF_EFORK, HF_ENOMEM and HF_EINVAL.  One that
 * returns a descriptor can return HF_ESTORE, if the process has too many open.  One
 * that has a time limit, or opens a store, can return whatever the store answers:
 * HF_EDOWN, HF_ETIMEOUT, HF_EDENIED, HF_EFULL, HF_ECORRUPT, HF_EUNSUPPORTED,
 * HF_ENOTFOUND, HF_ESTORE.  enum hf_error explains them.
 *
 * Time limits.  A negative `timeout_ms` waits for ever.  0 asks once, and waits only
 * for the answer: 5 s at most, or 1 s if every server of the URL refuses the
 * connection; after that it fails with HF_EDOWN.  Any other limit covers everything:
 * connecting, queueing, cleaning up.  If the server is unreachable, the call keeps
 * trying until the limit.
 *
 * Ownership.  You free what a constructor returns: locks with hf_lock_free(), reports
 * with hf_report_free(), findings with hf_findings_free(), and last the client with
 * hf_close().  Strings passed in are copied.
 *
 * NULL.  A client, lock or election that is NULL is refused with HF_EINVAL; functions
 * that return no code answer as for an idle lock (HF_IDLE, token 0, no time left).
 * Freeing NULL is fine.  So is NULL for options, and for text where the description
 * says so.  If there is nowhere to put the result (`ret` is NULL), the call fails with
 * HF_EINVAL.  The library cannot recognise a pointer to something that was freed: never
 * pass one.
 *
 * Growth.  New members are added to the end of a struct, and a program keeps working
 * with later versions of the library.  That is why a struct that you fill in states its
 * size and starts from its ..._INIT, and why structs that the library fills in come as
 * an array of pointers, as in report->entry[i]->name.
 *
 * Threads.  With the keeper thread (the default) every function may be called from any
 * thread; just do not free what another thread is using.  The same is true with
 * HF_NO_KEEPER, but then you must call hf_process() while a lock is held or waited for.
 * Callbacks run in the keeper thread or in hf_process(), one at a time, and the library
 * holds no mutex meanwhile: they may call anything but hf_close().  on_trace and
 * on_session_key are different: they run in the middle of the work with the store, in
 * the thread that does it, and must not call the library.  Blocking calls are not
 * cancellation points.
 *
 * Fork.  A child process must not use what its parent opened.  Calls in the child
 * return HF_EFORK and do nothing, and nothing the child does can end the parent's
 * locks.  In the child, a lock that the parent held is HF_LOST, with HF_EFORK from
 * hf_why(); all others are HF_IDLE.  exec() closes all descriptors of the library.
 * All this is true as well for a child of _Fork() or clone(), which run no fork handlers
 * (Linux 4.14 or later), except that such a child keeps the descriptors until exec().
 *
 * Signals and output.  The library installs no signal handlers, never prints, and never
 * exits.  A SIGPIPE or SIGXFSZ that it causes does not reach your program: a file that
 * has reached the limit of its size (RLIMIT_FSIZE) is reported as HF_EFULL.
 * hf_left_ms() may be called from a signal handler.
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

/* ---- Results: error codes and what they mean ---------------------------- */

/* A failed call returns one of these. */
enum hf_error {
    HF_EINVAL = -1,        /* an argument makes no sense; the message says which */
    HF_ENOMEM = -2,        /* out of memory */
    HF_EBUSY = -3,         /* somebody else has the lock, and you asked not to wait */
    HF_ETIMEOUT = -4,      /* not done within the time limit */
    HF_ECANCELED = -5,     /* hf_cancel() was called */
    HF_ELOST = -6,         /* the lock was yours, but not to the end: stop, and say so */
    HF_EDOWN = -7,         /* the store cannot be reached, or does not answer */
    HF_EDENIED = -8,       /* the store refuses access: permissions, password */
    HF_EFORK = -9,         /* opened by the parent process; open your own */
    HF_EOWNER = -10,       /* another thread holds this handle */
    HF_ESTATE = -11,       /* the handle is not in a state that allows this call */
    HF_EMISMATCH = -12,    /* others use this name as another kind of lock */
    HF_EFULL = -13,        /* no room in the store: disk, memory or queue limit */
    HF_ECORRUPT = -14,     /* the store's data make no sense; nothing was changed */
    HF_EUNSUPPORTED = -15, /* not built in, or the store cannot do this */
    HF_ENOTFOUND = -16,    /* the place, file or library does not exist (any more) */
    HF_ESTORE = -17,       /* any other failure of the store */
    HF_EDEADLOCK = -18,    /* this thread would wait for itself */
    HF_EEXHAUSTED = -19,   /* the store has used up its numbers for this name; the
                              message says how to start afresh */
};

/* The name of a code, as "HF_EBUSY", and a short sentence about it; never NULL. */
HF_API const char *hf_errname(int code);
HF_API const char *hf_strerror(int code);

/* May the same call succeed later, unchanged?  Does the code mean that you lost a
 * lock? */
HF_API bool hf_err_retryable(int code);
HF_API bool hf_err_lost(int code);

/* ---- Library: its version, and the stores it supports ------------------- */

/* The version, as "0.1.0", and the schemes of the stores that are built in: "sqlite
 * system memory zk zks redis ...". */
HF_API const char *hf_version(void);
HF_API const char *hf_stores(void);

/* The SQL that creates the tables and functions which a store needs in a database, for
 * an administrator to run.  With a `role`, it also grants that role the right to use
 * them.  `scheme` is one of hf_stores().  *ret is yours to free(); NULL if this store
 * needs no SQL.  Where they have the right to, stores create what they need themselves.
 *
 * HF_EUNSUPPORTED: there is no such scheme. */
HF_API HF_CHECK int hf_schema(const char *scheme, const char *role, char **ret);

/* ---- Options: settings and callbacks of a client ------------------------ */

struct hf_client;
struct hf_lock;

/* The state of a lock handle.  (In C++, too, write `enum hf_state`: a function has the
 * same name.) */
enum hf_state {
    HF_IDLE,    /* not wanted */
    HF_WAITING, /* wanted, not granted yet */
    HF_HELD,    /* yours for another hf_left_ms() */
    HF_LEAVING, /* given up; the store has not confirmed that yet */
    HF_LOST,    /* was yours and is no longer; hf_release() acknowledges it */
};

/* The state of a client's link to its store. */
enum hf_link {
    HF_LINK_DOWN, /* the store cannot be reached; the client retries.  A held lock stays
                     yours for hf_left_ms() */
    HF_LINK_UP,
    HF_LINK_LOST, /* the session is dead: held locks are HF_LOST, waiters queue again.
                     The client begins a new session by itself */
};

/* Flags of a client. */
enum hf_flags {
    HF_NO_KEEPER = 1 << 0, /* no thread of the library's own: you call hf_process() */
    HF_INIT = 1 << 1,      /* create what the URL names, where clients do not create it
                              by themselves: the chroot in ZooKeeper, system: */
    HF_GUARDIAN = 1 << 2,  /* if this process dies, have its locks released at once; see
                              `guardian` */
};

/* Start from HF_OPTIONS_INIT; zero means the default everywhere. */
struct hf_options {
    size_t      size;    /* sizeof(struct hf_options): lets the struct grow.  Members that
                            the library is too old to know must be zero */
    unsigned    flags;   /* of enum hf_flags */
    int         ttl_ms;  /* the lease: how long a dead holder blocks the others;
                            0: 15000.  The file store needs no lease */
    const char *command; /* the program that runs under the lock, shown to others */
    const char *note;    /* free text, shown to others */

    /* Called once for every change of a lock's state.  `why` is 0 or the code that ended
     * the attempt: HF_ETIMEOUT with HF_IDLE, HF_ELOST with HF_LOST... */
    void (*on_state)(struct hf_lock *lock, enum hf_state state, int why, void *data);
    /* Called when somebody asks for a lock that you hold; see hf_ask(). */
    void (*on_ask)(struct hf_lock *lock, const char *reason, void *data);
    /* Called when a waiting lock moves up in its queue; see hf_set_follow(). */
    void (*on_place)(struct hf_lock *lock, int64_t ahead, void *data);
    /* Called for every request to the store and every answer, with one line of text, by
     * the thread that works with the store, in the middle of that work: it must not
     * call the library. */
    void (*on_trace)(const char *text, void *data);
    void *data;

    /* If set, hf_open() writes its message here when it fails: without a client there is
     * no hf_errmsg(). */
    char  *error;
    size_t error_size;

    /* Called when the store is first reached, when the link breaks, when the reason for
     * that changes, when the link is restored, and when the session is lost.  `why`
     * names the server and the reason for a person to read: "Redis at db1:6379 cannot
     * be reached: connection refused"; "" with HF_LINK_UP.  It is lent for the call. */
    void (*on_link)(struct hf_client *client, enum hf_link link, const char *why,
                    void *data);

    /* Replaces `command` on stores that other users can read: servers, a group's file.
     * NULL: the same. */
    const char *public_command;

    /* With HF_GUARDIAN: the absolute path of the holdfast program.  NULL: where it is
     * installed together with the library.  PATH and the environment are never used.
     *
     * hf_open() starts this program as a small second process, the guardian, one for
     * each client.  The guardian waits for the death of this process: by SIGKILL, a
     * crash, abort(), lack of memory, or an exit without hf_close().  Then it ends the
     * session by its session key (see hf_session_key()), and waiters need not wait for
     * the lease to expire.  hf_close() dismisses the guardian if the server has
     * confirmed every release; otherwise the guardian ends the session.  Your program
     * does not notice it: no SIGCHLD, no child for wait() to find.  (If your program is
     * a subreaper, the guardian is one of the orphans that it adopts.)
     *
     * The lease is still needed: when the machine or its network dies, or when both
     * processes are killed at once, as when a container is killed with its process 1.
     * A process that is stopped, or has called exec(), is not dead.  A dead process
     * counts as alive while a forked child of it lives, has not called exec() and keeps
     * its descriptors: that child may still act under the lock.
     *
     * The guardian runs with the rights and the environment of your program.  For this
     * reason a program with more rights than its caller (set-user-ID) is refused:
     * HF_EDENIED.  A forked child that does not act under the lock may say so by calling
     * hf_close(), which does nothing else there.
     *
     * The file store and memory need no guardian, and none is started. */
    const char *guardian;

    /* Called with the key of each session before anything is requested in it, and each
     * time the store is reached again; see hf_session_key().  So a program that passes
     * the key on is never too late.  The bytes are lent for the call.  It runs in the
     * thread that works with the store, in the middle of that work: it must not call
     * the library.  Not called on the file store and memory, where a session ends with
     * its process. */
    void (*on_session_key)(const void *key, size_t size, void *data);
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

/* Open a session.  `url` NULL: $HOLDFAST_URL if set, else your own file
 * holdfast/locks.db in $XDG_STATE_HOME or ~/.local/state; without $HOME the home
 * directory is taken from the user database.  Another user, or another XDG_STATE_HOME,
 * means another file: hf_where() tells which.  A program with more rights than its
 * caller (set-user-ID) takes nothing from the environment.  An empty URL, also in
 * $HOLDFAST_URL, is HF_EINVAL: somebody forgot to set the variable that it comes from.
 *
 *     sqlite:PATH      a file on this machine, with one name: HF_EDENIED if it has hard
 *                      links, or is a mount point by itself; mount its folder instead
 *                      ?group=NAME   creates it for this group to share: its folder
 *                                    2770, its files 0660.  Later the path is enough
 *                      ?force=1      allows file systems on which it may be unsafe
 *     system:          the file of the whole machine, /var/lib/holdfast/locks.db, for
 *                      root and the members of one group.  Only root creates it, by
 *                      HF_INIT or `holdfast init --system`; before that, hf_open() fails
 *                      with HF_ENOTFOUND
 *                      ?group=NAME   with HF_INIT: for that group instead of "holdfast"
 *     zk://HOST:PORT,HOST:PORT.../CHROOT
 *                      ZooKeeper servers; Curator and kazoo can share their queues
 *                      ?session=30s  how long a dead holder blocks the others, instead of
 *                                    ttl_ms
 *                      ?auth=FILE    has "user:password"; or //user:password@HOST, or
 *                                    $HOLDFAST_ZK_AUTH
 *                      ?acl=creator, open, or scheme:id,scheme:id
 *                      ?style=kazoo  writes kazoo's names
 *                      ?maxbuffer=BYTES  the servers' jute.maxbuffer, 1048575 unless said:
 *                                    a client whose places have paths of more than three
 *                                    quarters of that gets HF_EFULL
 *     zks://...        the same over TLS
 *                      ?ca=FILE      the certificates to trust
 *                      ?cert=FILE, ?key=FILE  the certificate and key of this client
 *     redis://HOST:PORT/DB
 *                      a Redis or Valkey server, or one or several servers of a cluster:
 *                      HOST,HOST; rediss: the same over TLS, with ?ca, ?cert and ?key
 *                      ?ttl=30s      instead of ttl_ms; the same for all clients
 *                      ?prefix=NAME  of its keys
 *                      ?replicas=N   N replicas must confirm each grant
 *                      ?evicting=yes  accepts a server that may evict keys
 *                      ?auth=FILE    has "user:password"; or //user:password@HOST, or
 *                                    $HOLDFAST_REDIS_AUTH
 *     redis+unix:PATH  the same through a Unix socket.  ?db=N
 *     redis+sentinel://HOST:PORT,HOST:PORT.../SERVICE
 *                      the master that most Sentinels name: list all of them.  ?db=N
 *     postgres://USER@HOST:PORT,HOST:PORT.../DATABASE
 *                      a PostgreSQL database; postgresql: is the same.  Takes every
 *                      parameter of libpq, as ?sslmode=, and $PGPASSWORD or ~/.pgpass
 *                      ?ttl=30s      instead of ttl_ms
 *                      ?polling=yes  never LISTEN, as behind a pooler
 *     mariadb://USER@HOST:PORT,HOST:PORT.../DATABASE
 *                      a MariaDB database; mysql: is the same
 *                      ?ttl=30s      instead of ttl_ms
 *                      ?socket=PATH  a Unix socket, and no HOST
 *                      ?tls=yes, ?ca, ?cert, ?key  as for zks:
 *                      ?auth=FILE    has "password" or "user:password"; or
 *                                    //user:password@HOST, or $HOLDFAST_MARIADB_AUTH
 *                      ?polling=yes  no second connection for waiters
 *                      ?history=N    on a file or in a database: from now on the
 *                                    store keeps the last N events, see hf_history();
 *                                    0: none
 *     memory:NAME      inside this process, for tests.  ?lease=MS gives sessions a
 *                      lease, as servers do
 *
 * Opening a store on a server does not wait for the server: the first call that
 * needs it does, within its own time limit.
 *
 * The files of ?auth, ?ca, ?cert and ?key are read again for each connection, so that they
 * can be replaced meanwhile.  A file that is gone or makes no sense changes nothing.
 *
 * zks:, rediss: and MariaDB need OpenSSL, Redis needs hiredis, PostgreSQL needs libpq.  The
 * first hf_open() that needs a library loads it; a thread that forks meanwhile waits.
 *
 * HF_ENOTFOUND: a library is missing; the message tells which, and what to install. */
HF_API HF_CHECK int hf_open(const char *url, const struct hf_options *options,
                            struct hf_client **ret);

/* Load the libraries that hf_open() would load for this URL, and open nothing.  After
 * that hf_open() reads no library from disk: for programs that call chroot(), drop
 * privileges, or must keep working when memory is short.  Only the scheme of the URL
 * counts.  On failure the message is written to `error`, unless that is NULL.
 *
 * HF_ENOTFOUND: a library is missing, as with hf_open(). */
HF_API HF_CHECK int hf_load(const char *url, char *error, size_t error_size);

/* Release and free every lock that is left, end the session, free the client.  Waits for
 * a callback that is running; after that no callback is called any more. */
HF_API void hf_close(struct hf_client *client);

/* The message of the calling thread's last failure on this client, even if other
 * threads failed since; if this thread had none, the last message of any thread.  A
 * thread that has called hf_acquire_start() or hf_process() also sees failures of locks
 * that were started.  With several clients, call this before the next call that may
 * fail.  The text belongs to the calling thread, until its next hf_errmsg(). */
HF_API const char *hf_errmsg(struct hf_client *client);

/* The URL of the store, without passwords, so that it may be shown; the default store has
 * one, too.  Lent until hf_close(). */
HF_API const char *hf_where(const struct hf_client *client);

/* ---- Locks: mutex, readers and writers, semaphore, claim -------------------
 *
 * The constructors differ in which locks exclude each other; later calls are the same.
 * A constructor only creates a handle; it does not contact the store.
 *
 * A name is 1 to 255 bytes of UTF-8 without control characters, without '/',
 * without "..", and is not ".": else HF_EINVAL. */

/* One holder at a time, first come first served. */
HF_API HF_CHECK int hf_mutex(struct hf_client *client, const char *name,
                             struct hf_lock **ret);

/* Readers share, a writer is alone, first come first served.
 *
 * A thread that holds the writer may also acquire a reader of the same name and client:
 * it is granted at once.  If the writer is released first, the reader keeps its place:
 * that is a downgrade.  In the other direction, from reader to writer, two threads
 * would wait for each other: a thread that holds a reader and acquires the writer gets
 * HF_EDEADLOCK; with a timeout of 0, HF_EBUSY, as from any lock that is held.  examples/rwlock.c is a
 * program. */
HF_API HF_CHECK int hf_reader(struct hf_client *client, const char *name,
                              struct hf_lock **ret);
HF_API HF_CHECK int hf_writer(struct hf_client *client, const char *name,
                              struct hf_lock **ret);

/* Any number of holders whose weights add up to `capacity` at most.  Each has a slot
 * number, 0 to capacity - 1, that no other holder has at that time.
 * examples/semaphore.c is a program. */
HF_API HF_CHECK int hf_semaphore(struct hf_client *client, const char *name,
                                 uint32_t capacity, uint32_t weight,
                                 struct hf_lock **ret);

/* Turn a held writer into a reader, in place: readers that wait right behind it join,
 * and no waiting writer gets in between.  The handle stays held, and is a writer again
 * when it is next acquired.
 *
 * HF_ELOST: the lock is lost, or the store did not answer before your time ran out (see
 * hf_left_ms()).  HF_ESTATE: it is not held.  HF_EOWNER: another thread holds it.
 * HF_EINVAL: it is not a writer. */
HF_API int hf_downgrade(struct hf_lock *writer);

/* One holder at a time, and no queue: when the lock becomes free, any of those that
 * want it may get it. */
HF_API HF_CHECK int hf_claim(struct hf_client *client, const char *name,
                             struct hf_lock **ret);

/* Several locks as one.  All of them are acquired within one time limit, or none is;
 * always in the same order of their names, so that nobody waits in a circle.  The set
 * is held while all its locks are, and lost when one of them is.  hf_token() is the
 * highest of their tokens.  The locks remain yours, must be idle when you pass them in,
 * and must not be used by themselves meanwhile; free the set first.
 *
 * HF_EINVAL: a lock is in use, has the same name as another, belongs to another client
 * or is already part of a set or election. */
HF_API HF_CHECK int hf_all_of(struct hf_lock *const *locks, size_t count,
                              struct hf_lock **ret);

/* Free a lock.  Gives it up first if it is held or waited for, without waiting for the
 * store.  Waits for a callback about this lock that is running in another thread. */
HF_API void hf_lock_free(struct hf_lock *lock);

/* ---- Settings: how one lock behaves -----------------------------------------
 *
 * They can be changed only while the lock is idle: else HF_ESTATE. */

/* Text shown to others from the next acquire on; NULL: the client's. */
HF_API int hf_set_note(struct hf_lock *lock, const char *note);

/* Let any thread release a lock that another thread acquired.  Then the handle is not
 * reentrant: every acquire waits until it is free. */
HF_API int hf_set_any_thread(struct hf_lock *lock, bool any_thread);

/* Fail with HF_EFULL, instead of queueing, if `max` others or more wait; 0: no limit. */
HF_API int hf_set_max_waiters(struct hf_lock *lock, uint32_t max);

/* Keep hf_ahead() up to date while waiting, and call on_place.  Costs a request to the
 * store at every change of the queue. */
HF_API int hf_set_follow(struct hf_lock *lock, bool follow);

/* ---- Acquire: take a lock, and give it back ----------------------------- */

/* Wait up to `timeout_ms` until the lock is yours; 0 tries once and never queues:
 * HF_EBUSY.  The thread that holds the handle may acquire it again: the handle
 * counts that, does not contact the store, and needs as many releases.  Other threads
 * wait for the handle.  A process that is stopped while it waits, as by Ctrl-Z, keeps its
 * place and is granted the lock.  examples/mutex.c is a program.
 *
 * HF_ETIMEOUT: the time is over.  HF_ECANCELED: hf_cancel() was called.  HF_EDEADLOCK:
 * this thread holds the same name by another handle.  HF_EMISMATCH: others use the name
 * as another kind of lock.  HF_EFULL: see hf_set_max_waiters(), or the store has no
 * room.  HF_ELOST: the handle is lost, and hf_release() has to acknowledge that first;
 * or the lock was lost as soon as it was granted, and the handle is idle again.
 * HF_EEXHAUSTED: the store has no more numbers for this name.  HF_EDOWN, HF_EDENIED,
 * HF_ECORRUPT, HF_ESTORE and the like: the store does not answer, or refuses.
 *
 * After a failure the handle may be HF_LEAVING for a moment: hf_acquire() waits for
 * that to end, hf_acquire_start() fails with HF_ESTATE. */
HF_API HF_CHECK int hf_acquire(struct hf_lock *lock, int64_t timeout_ms);

/* Give it back.  0 only if the lock was yours until now.
 *
 * HF_ELOST: it was not, or nobody can tell, because the connection broke just then:
 * count your work under it as not protected to the end.  The handle is idle again.
 * HF_EDOWN: the lock was yours when you called, but the store did not confirm the
 * release while that was certain.  The handle is HF_LEAVING, and the release is sent as
 * soon as the store answers; otherwise others get the lock when the lease expires.
 * HF_EDENIED: the store does not let this user remove its place from the queue, as after
 * a change of rights.  The handle is HF_LEAVING, and the release is retried every
 * second; others wait until it succeeds or the client is closed.  HF_ESTATE: it is not
 * held.  HF_EOWNER: another thread holds it, see hf_set_any_thread(). */
HF_API int hf_release(struct hf_lock *lock);

/* The same without waiting; on_state or hf_state() tells the result.  A lock acquired
 * in this way belongs to no thread: any thread may release it.  Some errors are known
 * without the store and returned at once: HF_ESTATE (hf_acquire_start(): the handle is
 * in use, or leaving), HF_EOWNER, HF_ELOST. */
HF_API HF_CHECK int hf_acquire_start(struct hf_lock *lock, int64_t timeout_ms);
HF_API int          hf_release_start(struct hf_lock *lock);

/* End every wait for this handle with HF_ECANCELED, from any thread.  A lock that is
 * already held stays held; 0 is returned in this case, too. */
HF_API int hf_cancel(struct hf_lock *lock);

/* Let the calling thread acquire and release on behalf of another.  For a thread that
 * must not block, because a runtime handles its signals there, a helper thread can do
 * the waiting: the helper calls hf_act_for() with the number that hf_acting_for()
 * returned in the other thread, and locks that the helper acquires belong to that
 * thread.  Only one of the two may use the lock at a time, except for hf_cancel().
 * hf_errmsg() shows each of them its own failures.  hf_act_for(0): the thread acts for
 * itself again. */
HF_API uint64_t hf_acting_for(void);
HF_API void     hf_act_for(uint64_t owner);

/* ---- State: what is known about a lock ---------------------------------- */

/* The name of the lock; its state; and the code of the last change, which on_state gets
 * as `why`. */
HF_API const char   *hf_name(const struct hf_lock *lock);
HF_API enum hf_state hf_state(const struct hf_lock *lock);
HF_API int           hf_why(const struct hf_lock *lock);

/* The fencing token: the number of this grant, higher than every earlier one of that
 * name; 0 unless held.  Pass it to the resource that the lock protects, which can then
 * refuse a holder that is too late. */
HF_API uint64_t hf_token(const struct hf_lock *lock);

/* The slot number that a semaphore gave; -1 unless held. */
HF_API int hf_slot(const struct hf_lock *lock);

/* How many places are ahead of ours, as far as known: 0 when held, -1 unless
 * waiting or held. */
HF_API int64_t hf_ahead(const struct hf_lock *lock);

/* How much longer the lock is certainly yours, in ms, by this process's own clock;
 * 0: stop now; INT64_MAX: as long as this process lives.  Reads only memory and the
 * clock, so call it before every step that matters. */
HF_API int64_t hf_left_ms(const struct hf_lock *lock);

/* A descriptor that becomes readable when the lock is lost, or when its time
 * runs out, even if nobody calls hf_process().  Poll it, do not close it. */
HF_API HF_CHECK int hf_lost_fd(struct hf_lock *lock);

/* ---- Queues: who holds, and who waits ----------------------------------- */

/* One place in the queue of a lock, a holder's or a waiter's.  Strings belong to the
 * report. */
struct hf_entry {
    const char *name;  /* of the lock */
    const char *kind;  /* mutex, reader, writer, semaphore, claim; or unknown: the store's
                          data about this place make no sense.  Nobody gets past such a
                          place, HF_ECORRUPT, until it is gone or hf_break() removes it */
    bool        held;  /* else waiting */
    uint64_t    token; /* names this place in hf_break() */
    int64_t     since; /* held or queued since, microseconds since 1970 */
    uint32_t    weight;
    uint32_t    capacity; /* UINT32_MAX for readers and writers; 0, like the weight, if
                             the kind is unknown */
    int         slot;     /* -1: none */
    const char *host;     /* from here on "" or 0 means unknown */
    const char *user;
    int64_t     pid;
    const char *command;
    const char *note;
    int64_t     left_ms; /* how long its session lives if nobody renews it, according to
                             the store; INT64_MAX: as long as its process lives;
                             -1: the store does not tell */
    const char *version; /* of the Holdfast that took this place: "0.1.0"; "": unknown */
};

/* Entries sorted by name, then first come first served. */
struct hf_report {
    const struct hf_entry *const *entry; /* entry[0]->name, entry[1]->name... */
    size_t                        count;
};

/* List the holders and waiters of `name`; NULL: of every name in the store. */
HF_API HF_CHECK int hf_inspect(struct hf_client *client, const char *name,
                               int64_t timeout_ms, struct hf_report **ret);

/* Free a report and everything in it. */
HF_API void hf_report_free(struct hf_report *report);

/* Wait until the queue of `name` differs from `seen`, then return as hf_inspect() does.
 * `seen` NULL: at once.
 *
 * HF_ETIMEOUT: it did not change; with a limit of 0 this is returned at once. */
HF_API HF_CHECK int hf_watch(struct hf_client *client, const char *name,
                             const struct hf_report *seen, int64_t timeout_ms,
                             struct hf_report **ret);

/* Take the place `token` in the queue of `name` away from its owner.  A holder becomes
 * HF_LOST, a waiter queues again.
 *
 * HF_ENOTFOUND: that place is gone; no other is touched. */
HF_API HF_CHECK int hf_break(struct hf_client *client, const char *name, uint64_t token,
                             int64_t timeout_ms);

/* ---- Store watch: follow all queues of a store ------------------------------
 *
 * For programs that show what goes on in a store, as `holdfast top` does.  The watch
 * first reports every queue, then each one that changes.  It works in rounds: the store
 * says which queues changed since the last round, and only these are read.  So a quiet
 * store costs nothing, however many queues it has.  A store that cannot say is read
 * once a second; every store of this library can. */

struct hf_store_watch;

/* Start from HF_STORE_WATCH_INIT. */
struct hf_store_watch_options {
    size_t size;     /* as in struct hf_options */
    int    pause_ms; /* between two rounds, at least; 0: 100.  A place that comes and goes
                        in between is not seen; hf_history() may have it */
    /* A queue is new or has changed.  `queue` has its places, none if it is empty now.
     * It is yours to free; the name is lent for the call. */
    void (*on_queue)(struct hf_store_watch *watch, const char *name,
                     struct hf_report *queue, void *data);
    /* A round is complete: all its changes were reported; in the first round, every
     * queue was. */
    void (*on_round)(struct hf_store_watch *watch, void *data);
    void *data;
};

#ifdef __cplusplus
static inline struct hf_store_watch_options hf_store_watch_init()
{
    struct hf_store_watch_options options = hf_store_watch_options();

    options.size = sizeof options;
    return options;
}
#define HF_STORE_WATCH_INIT hf_store_watch_init()
#else
/* clang-format off */
#define HF_STORE_WATCH_INIT { .size = sizeof(struct hf_store_watch_options) }
/* clang-format on */
#endif

/* Start a store watch.
 *
 * HF_ESTATE: this client has one already. */
HF_API HF_CHECK int hf_store_watch_new(struct hf_client                    *client,
                                       const struct hf_store_watch_options *options,
                                       struct hf_store_watch              **ret);

/* End it, before hf_close(), and not from inside one of its callbacks. */
HF_API void hf_store_watch_free(struct hf_store_watch *watch);

/* ---- History: past events of a store ----------------------------------------
 *
 * A store can keep its last events.  A file keeps the last 1000.  Redis and databases
 * keep none until somebody opens the store with ?history=N in its URL, which then
 * applies to all its users.  With ?history=0 a store keeps none; in a file that makes
 * an acquire and release some ten microseconds faster. */

/* One event: what happened to one place in a queue.  Strings belong to the report. */
struct hf_history_entry {
    uint64_t    number; /* rises by one for each entry of a store */
    int64_t     time;   /* microseconds since 1970, by the clock of the store */
    const char *what;   /* entered: it joined the queue; granted; released: by its holder;
                           left: a waiter's place is gone, however it went; lost: its
                           holder's session ended; broken: see hf_break(); asked: see
                           hf_ask(); lessened: see hf_downgrade(); unknown */
    const char *name;   /* of the lock; from here on as in struct hf_entry */
    uint64_t    token;
    const char *kind;
    int         slot;
    const char *host;
    const char *user;
    int64_t     pid;
    const char *command;
    const char *note;
    const char *reason; /* asked: why; broken, and left because a waiter's place was
                           broken: "by USER@HOST:PID"; else "" */
};

/* Oldest first. */
struct hf_history_report {
    const struct hf_history_entry *const *entry; /* entry[0]->what... */
    size_t                                count;
    uint64_t last; /* number of the newest entry in the store: pass it to hf_history() */
};

/* Read the events after the entry number `after` (0: all that are kept) of `name`;
 * NULL: of every lock.
 *
 * HF_ENOTFOUND: this store keeps no history.  HF_EUNSUPPORTED: it cannot keep any. */
HF_API HF_CHECK int hf_history(struct hf_client *client, const char *name, uint64_t after,
                               int64_t timeout_ms, struct hf_history_report **ret);

/* Free a report and everything in it. */
HF_API void hf_history_report_free(struct hf_history_report *report);

/* ---- Checks: is a lock still held, is the store healthy ----------------- */

/* The severity of a finding. */
enum hf_level {
    HF_FINE,    /* as it should be */
    HF_WARNING, /* works, but deserves attention */
    HF_FAULT,   /* does not work */
};

/* One finding about a store. */
struct hf_finding {
    enum hf_level level;
    const char   *about;  /* a word or two: "version", "session" */
    const char   *text;   /* what was found */
    const char   *advice; /* what to do about it; "" when nothing */
};

/* All findings.  Strings belong to it. */
struct hf_findings {
    const struct hf_finding *const *finding; /* finding[0]->text... */
    size_t                          count;
};

/* Is the lock that you hold still yours?  Asks the store once, in the strictest way it
 * offers.  0: yes; on a store with leases the lease was renewed, too, so hf_left_ms()
 * is as long as it gets.  From any thread.
 *
 * HF_ELOST: it is not, and its state is HF_LOST.  HF_EDOWN, HF_ETIMEOUT: nobody knows;
 * where it matters, stop as if the lock were lost.  HF_ESTATE: it is not held. */
HF_API HF_CHECK int hf_check(struct hf_lock *lock, int64_t timeout_ms);

/* The same for a process that does not hold the lock but knows the holder's token: a
 * child process, or the resource that the lock protects.  Does `token` still hold
 * `name`?  0: yes.
 *
 * HF_ELOST: no, or not yet. */
HF_API HF_CHECK int hf_verify(struct hf_client *client, const char *name, uint64_t token,
                              int64_t timeout_ms);

/* Examine the store, and also the queue of `name` unless that is NULL.  If the store
 * cannot be reached, the call succeeds with a finding about it: "link", HF_FAULT. */
HF_API HF_CHECK int hf_doctor(struct hf_client *client, const char *name,
                              int64_t timeout_ms, struct hf_findings **ret);

/* Free findings and everything in them. */
HF_API void hf_findings_free(struct hf_findings *findings);

/* ---- Fencing: keep a late holder out of a file ------------------------------
 *
 * A holder can be stopped for longer than its lease, and go on without knowing that it
 * has lost the lock.  The protected resource can refuse it: it remembers the highest
 * token so far, and accepts no lower one.  docs/fencing.md has recipes for databases and
 * servers; this is for files. */

/* Claim the file or folder `path` with your token, and keep later holders waiting while
 * you read and write it.  Call it before you read: a holder that reads first may
 * compute its result from old data.  Call it again for every change:
 *
 *     int fence = hf_fence_file("report.csv", hf_token(lock), 5000, NULL, 0);
 *
 *     if (fence < 0)
 *             return fence;
 *     replace_report();
 *     close(fence);
 *
 * Returns a descriptor, which is yours to close().  Until the descriptor is closed, no
 * other call for this path succeeds, in any process; after that, none with a lower
 * token does.  The token may be the same: a holder may call this as often as it likes.
 * A forked child that keeps the descriptor keeps the fence as well, until it ends or
 * calls exec().
 *
 * A change that is made without the descriptor open is not protected: the process may
 * be stopped right after the close().  With it open, a process that is stopped keeps
 * later holders waiting: they are late, and never overwritten.
 *
 * `path` need not exist, but its folder must.  The token is kept beside it, in
 * PATH.fence, as text; PATH.fence.lock is there for the lock.  Those who may write
 * `path` may use both.  A crash, of the process or the machine, leaves the old token or
 * the new one.  Never remove these files while anybody may hold the lock.  Every
 * program that changes `path` has to do so in this way; the tokens must be those of one
 * exclusive lock in one store.  Readers that share a lock have different tokens, and
 * the lower ones would be refused.
 *
 * On failure the message is written to `error`, unless that is NULL.
 *
 * HF_ELOST: the token is stale; the message names the higher one.  HF_ETIMEOUT,
 * HF_EBUSY: another process has not closed its descriptor yet.  HF_ECORRUPT: PATH.fence
 * is damaged, and was left as it is.  HF_EDENIED: no permission; or `path` has several
 * names (a symbolic link, hard links, a mount point), so that some programs would not
 * see the fence.  HF_EUNSUPPORTED: `path` is on a network file system.  HF_ENOTFOUND:
 * its folder does not exist.  HF_EFULL: the disk is full. */
HF_API HF_CHECK int hf_fence_file(const char *path, uint64_t token, int64_t timeout_ms,
                                  char *error, size_t error_size);

/* ---- Asking: ask the holder to give a lock up --------------------------- */

/* Ask all holders of `name` to give it up, and say why (NULL: no reason).  Nothing is
 * taken away: the holders decide.  A holder is notified once, even if the same reason is
 * given again.  Returns how many holders were asked.
 *
 * HF_ENOTFOUND: nobody holds it. */
HF_API HF_CHECK int hf_ask(struct hf_client *client, const char *name, const char *reason,
                           int64_t timeout_ms);

/* Has somebody asked for this lock since it was acquired?  Copies the last reason
 * to `reason`, cut to `size`; nothing is copied if `size` is 0 or `reason` is NULL. */
HF_API bool hf_asked(struct hf_lock *lock, char *reason, size_t size);

/* A descriptor that is readable from the moment somebody asks for the lock until it is
 * released.  Poll it, do not close it. */
HF_API HF_CHECK int hf_ask_fd(struct hf_lock *lock);

/* ---- Statistics: how often a lock was taken, and for how long ----------- */

/* Bucket i counts durations of less than 2^i microseconds, and not less than
 * 2^(i-1); the last one counts the rest. */
#define HF_BUCKETS 40

/* The one struct that never grows: it is embedded in others. */
struct hf_histogram {
    uint64_t count;
    uint64_t total_us;
    uint64_t max_us;
    uint64_t bucket[HF_BUCKETS];
};

/* Counters of one handle since it was created. */
struct hf_stats {
    uint64_t            acquired;
    uint64_t            busy; /* not acquired, by reason: HF_EBUSY... */
    uint64_t            timeouts;
    uint64_t            canceled;
    uint64_t            failed;
    uint64_t            released;
    uint64_t            lost;
    struct hf_histogram wait;   /* from the request to the grant, if it was acquired */
    struct hf_histogram hold;   /* from the grant to release or loss */
    uint64_t            broken; /* of `lost`: the session lived, so somebody took it */
    int64_t             least_left; /* microseconds: the least time ever left by
                                       hf_left_ms() while held; INT64_MAX: no deadline */
};

/* Statistics of this handle.  `size` is sizeof *ret: lets the struct grow. */
HF_API void hf_get_stats(struct hf_lock *lock, struct hf_stats *ret, size_t size);

/* The same of all handles that this client ever had, freed ones included.  A set counts
 * once, and each of its parts once more. */
HF_API void hf_get_all_stats(struct hf_client *client, struct hf_stats *ret, size_t size);

/* Counters of one client since it was opened. */
struct hf_client_stats {
    uint64_t            connected; /* how often the store was reached: the first time and
                                      all reconnects */
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
 * A mutex with callbacks: the holder leads, the others queue, and everybody can know
 * who leads.  Like all callbacks, these run one at a time.  Between `elected` and
 * `deposed` you lead.  `deposed` is called before anybody else can be elected, as far
 * as clocks can tell: on a store with leases at the deadline; when you resign, before
 * the lock is released.  examples/election.c is a program. */

struct hf_election;

/* Start from HF_ELECTION_INIT. */
struct hf_election_options {
    size_t      size;    /* as in struct hf_options */
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

/* Do I lead?  By the clock, like hf_left_ms().  Not after hf_election_resign(), even if
 * `deposed` is yet to be called. */
HF_API bool hf_election_leads(const struct hf_election *election);

/* The mutex behind the election, for hf_token(), hf_left_ms() and hf_lost_fd(). */
HF_API struct hf_lock *hf_election_lock(struct hf_election *election);

/* Step down, or leave the queue, until hf_election_join(). */
HF_API int hf_election_resign(struct hf_election *election);

/* Queue again after resigning or, with `once`, being deposed. */
HF_API int hf_election_join(struct hf_election *election);

/* List the leader first, then the candidates in the order of the queue; as
 * hf_inspect(). */
HF_API HF_CHECK int hf_election_list(struct hf_election *election, int64_t timeout_ms,
                                     struct hf_report **ret);

/* ---- Loop: run a client in your own event loop (HF_NO_KEEPER) --------------
 *
 * examples/event_loop.c is a program. */

/* The descriptor to poll for POLLIN; it stays the same as long as the client lives. */
HF_API HF_CHECK int hf_fd(struct hf_client *client);

/* Milliseconds until hf_process() must be called at the latest; -1: no limit. */
HF_API int hf_timeout_ms(struct hf_client *client);

/* Do whatever is due, without waiting, and run the callbacks. */
HF_API int hf_process(struct hf_client *client);

/* ---- Guarding: end the session of a process that has died --------------- */

/* Descriptors that keep this session alive as long as any process has a copy of one
 * open (file store), so that a guardian, or a process started under the lock, can keep
 * it after the holder was killed.  Nothing can be written through them to the files of
 * the store.  Returns how many descriptors were written to `fds`, 0 if the store works
 * by leases: then only hf_left_ms() counts.  They belong to the client: pass copies on,
 * close none.  After a loss there are new ones: call it again. */
HF_API int hf_lifeline(struct hf_client *client, int *fds, int size);

/* The key of the session: the bytes that another process needs to end it.  A process
 * that sees that this one is dead, and that nothing acts for it any more, passes them
 * to hf_end_session(); then the next waiter gets the lock at once, and not only when
 * the lease expires.  Each session has a key of its own; `on_session_key` in the
 * options hands out every one of them in time.  Keep the key secret: it may contain
 * passwords of the store's URL.
 *
 * Returns how many bytes the key has, and writes them to `ret` if `size` is large enough.
 *
 * HF_EDOWN: there is no session yet; it begins when a call first sends a request to the
 * store.  The file store begins its session here, and creates its files if they are
 * missing: any other code says why that failed, as with hf_acquire(). */
HF_API HF_CHECK int hf_session_key(struct hf_client *client, void *ret, size_t size);

/* End the session that `key` belongs to, and release all its locks, wherever its
 * process is and whatever it does.  Needs no client.  The store must be reachable in
 * the same way as for the other process: with the same environment, and the same
 * working directory if its URL has relative paths.  With a timeout the call retries
 * until the time is over, but no longer than the lease lasts.  On failure the message
 * is written to `error`, unless that is NULL.
 *
 * 0: that session is dead, by this call or before; no other session is touched.  A
 * server that loses data may forget this, too: an owner that is alive then gets its
 * session back.
 *
 * HF_EINVAL: this is no session key, or a damaged one.  HF_EUNSUPPORTED: another
 * version of Holdfast wrote the key, or the data in the store; or the store is in the
 * memory of another process.  HF_ENOTFOUND: the file of the store does not exist.
 * HF_ETIMEOUT, HF_EDOWN: nobody knows whether it ended; the lease will end it, and you
 * may try again.  HF_EDENIED, HF_EFULL, HF_ENOMEM, HF_ESTORE: the store refuses. */
HF_API HF_CHECK int hf_end_session(const void *key, size_t size, int64_t timeout_ms,
                                   char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
