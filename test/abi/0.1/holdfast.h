/* holdfast.h - that of 0.1, without its comments; see ../grown.sh. */
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
enum hf_error {
    HF_EINVAL = -1,
    HF_ENOMEM = -2,
    HF_EBUSY = -3,
    HF_ETIMEOUT = -4,
    HF_ECANCELED = -5,
    HF_ELOST = -6,
    HF_EDOWN = -7,
    HF_EDENIED = -8,
    HF_EFORK = -9,
    HF_EOWNER = -10,
    HF_ESTATE = -11,
    HF_EMISMATCH = -12,
    HF_EFULL = -13,
    HF_ECORRUPT = -14,
    HF_EUNSUPPORTED = -15,
    HF_ENOTFOUND = -16,
    HF_ESTORE = -17,
    HF_EDEADLOCK = -18,
    HF_EEXHAUSTED = -19,
};
HF_API const char  *hf_errname(int code);
HF_API const char  *hf_strerror(int code);
HF_API bool         hf_err_retryable(int code);
HF_API bool         hf_err_lost(int code);
HF_API const char  *hf_version(void);
HF_API const char  *hf_stores(void);
HF_API HF_CHECK int hf_schema(const char *scheme, const char *role, char **ret);
struct hf_client;
struct hf_lock;
enum hf_state {
    HF_IDLE,
    HF_WAITING,
    HF_HELD,
    HF_LEAVING,
    HF_LOST,
};
enum hf_link {
    HF_LINK_DOWN,
    HF_LINK_UP,
    HF_LINK_LOST,
};
enum hf_flags {
    HF_NO_KEEPER = 1 << 0,
    HF_INIT = 1 << 1,
};
struct hf_options {
    size_t      size;
    unsigned    flags;
    int         ttl_ms;
    const char *command;
    const char *note;
    void (*on_state)(struct hf_lock *lock, enum hf_state state, int why, void *data);
    void (*on_ask)(struct hf_lock *lock, const char *reason, void *data);
    void (*on_place)(struct hf_lock *lock, int64_t ahead, void *data);
    void (*on_trace)(const char *text, void *data);
    void  *data;
    char  *error;
    size_t error_size;
    void (*on_link)(struct hf_client *client, enum hf_link link, const char *why,
                    void *data);
    const char *public_command;
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
#define HF_OPTIONS_INIT                   \
    {                                     \
        .size = sizeof(struct hf_options) \
    }
#endif
HF_API HF_CHECK int  hf_open(const char *url, const struct hf_options *options,
                             struct hf_client **ret);
HF_API void          hf_close(struct hf_client *client);
HF_API const char   *hf_errmsg(struct hf_client *client);
HF_API const char   *hf_where(const struct hf_client *client);
HF_API HF_CHECK int  hf_mutex(struct hf_client *client, const char *name,
                              struct hf_lock **ret);
HF_API HF_CHECK int  hf_reader(struct hf_client *client, const char *name,
                               struct hf_lock **ret);
HF_API HF_CHECK int  hf_writer(struct hf_client *client, const char *name,
                               struct hf_lock **ret);
HF_API HF_CHECK int  hf_semaphore(struct hf_client *client, const char *name,
                                  uint32_t capacity, uint32_t weight,
                                  struct hf_lock **ret);
HF_API int           hf_downgrade(struct hf_lock *writer);
HF_API HF_CHECK int  hf_claim(struct hf_client *client, const char *name,
                              struct hf_lock **ret);
HF_API HF_CHECK int  hf_all_of(struct hf_lock *const *locks, size_t count,
                               struct hf_lock **ret);
HF_API void          hf_lock_free(struct hf_lock *lock);
HF_API int           hf_set_note(struct hf_lock *lock, const char *note);
HF_API int           hf_set_any_thread(struct hf_lock *lock, bool any_thread);
HF_API int           hf_set_max_waiters(struct hf_lock *lock, uint32_t max);
HF_API int           hf_set_follow(struct hf_lock *lock, bool follow);
HF_API HF_CHECK int  hf_acquire(struct hf_lock *lock, int64_t timeout_ms);
HF_API int           hf_release(struct hf_lock *lock);
HF_API HF_CHECK int  hf_acquire_start(struct hf_lock *lock, int64_t timeout_ms);
HF_API int           hf_release_start(struct hf_lock *lock);
HF_API int           hf_cancel(struct hf_lock *lock);
HF_API const char   *hf_name(const struct hf_lock *lock);
HF_API enum hf_state hf_state(const struct hf_lock *lock);
HF_API int           hf_why(const struct hf_lock *lock);
HF_API uint64_t      hf_token(const struct hf_lock *lock);
HF_API int           hf_slot(const struct hf_lock *lock);
HF_API int64_t       hf_ahead(const struct hf_lock *lock);
HF_API int64_t       hf_left_ms(const struct hf_lock *lock);
HF_API HF_CHECK int  hf_lost_fd(struct hf_lock *lock);
struct hf_entry {
    const char *name;
    const char *kind;
    bool        held;
    uint64_t    token;
    int64_t     since;
    uint32_t    weight;
    uint32_t    capacity;
    int         slot;
    const char *host;
    const char *user;
    int64_t     pid;
    const char *command;
    const char *note;
};
struct hf_report {
    const struct hf_entry *const *entry;
    size_t                        count;
};
HF_API HF_CHECK int hf_inspect(struct hf_client *client, const char *name,
                               int64_t timeout_ms, struct hf_report **ret);
HF_API void         hf_report_free(struct hf_report *report);
HF_API HF_CHECK int hf_watch(struct hf_client *client, const char *name,
                             const struct hf_report *seen, int64_t timeout_ms,
                             struct hf_report **ret);
HF_API HF_CHECK int hf_break(struct hf_client *client, const char *name, uint64_t token,
                             int64_t timeout_ms);
enum hf_level {
    HF_FINE,
    HF_WARNING,
    HF_FAULT,
};
struct hf_finding {
    enum hf_level level;
    const char   *about;
    const char   *text;
    const char   *advice;
};
struct hf_findings {
    const struct hf_finding *const *finding;
    size_t                          count;
};
HF_API HF_CHECK int hf_check(struct hf_lock *lock, int64_t timeout_ms);
HF_API HF_CHECK int hf_verify(struct hf_client *client, const char *name, uint64_t token,
                              int64_t timeout_ms);
HF_API HF_CHECK int hf_doctor(struct hf_client *client, const char *name,
                              int64_t timeout_ms, struct hf_findings **ret);
HF_API void         hf_findings_free(struct hf_findings *findings);
HF_API HF_CHECK int hf_ask(struct hf_client *client, const char *name, const char *reason,
                           int64_t timeout_ms);
HF_API bool         hf_asked(struct hf_lock *lock, char *reason, size_t size);
HF_API HF_CHECK int hf_ask_fd(struct hf_lock *lock);
#define HF_BUCKETS 40
struct hf_histogram {
    uint64_t count;
    uint64_t total_us;
    uint64_t max_us;
    uint64_t bucket[HF_BUCKETS];
};
struct hf_stats {
    uint64_t            acquired;
    uint64_t            busy;
    uint64_t            timeouts;
    uint64_t            canceled;
    uint64_t            failed;
    uint64_t            released;
    uint64_t            lost;
    struct hf_histogram wait;
    struct hf_histogram hold;
};
HF_API void hf_get_stats(struct hf_lock *lock, struct hf_stats *ret, size_t size);
struct hf_election;
struct hf_election_options {
    size_t      size;
    const char *note;
    bool        observe;
    bool        once;
    void (*elected)(struct hf_election *election, uint64_t token, void *data);
    void (*deposed)(struct hf_election *election, int why, void *data);
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
#define HF_ELECTION_INIT                           \
    {                                              \
        .size = sizeof(struct hf_election_options) \
    }
#endif
HF_API HF_CHECK int    hf_election_new(struct hf_client *client, const char *name,
                                       const struct hf_election_options *options,
                                       struct hf_election              **ret);
HF_API void            hf_election_free(struct hf_election *election);
HF_API bool            hf_election_leads(const struct hf_election *election);
HF_API struct hf_lock *hf_election_lock(struct hf_election *election);
HF_API int             hf_election_resign(struct hf_election *election);
HF_API int             hf_election_join(struct hf_election *election);
HF_API HF_CHECK int    hf_election_list(struct hf_election *election, int64_t timeout_ms,
                                        struct hf_report **ret);
HF_API HF_CHECK int    hf_fd(struct hf_client *client);
HF_API int             hf_timeout_ms(struct hf_client *client);
HF_API int             hf_process(struct hf_client *client);
HF_API int             hf_lifeline(struct hf_client *client, int *fds, int size);
#ifdef __cplusplus
}
#endif
#endif
