/* names.h - what the nodes of a lock are called, ours and other people's.
 *
 * A lock is a folder named after it, a place in its line a child:
 *
 *     _c_<uuid>-lock-0000000007       mutex          Curator; go-zk without dashes;
 *                                                    many recipes only lock-0000000007
 *     _c_<uuid>-latch-0000000007      mutex          Curator's leader latch
 *     _c_<uuid>-__READ__0000000007    reader         Curator
 *     _c_<uuid>-__WRIT__0000000007    writer         Curator
 *     <32 hex>__lock__0000000007      mutex, writer  kazoo
 *     <32 hex>__rlock__0000000007     reader         kazoo
 *     x-<session>-0000000007          mutex          ZooKeeper's own recipes
 *     _c_<uuid>-sem-5-2-0000000007    semaphore      ours: capacity 5, weight 2
 *     _c_<uuid>-claim-0000000007      claim          ours
 *     claim                           beside a claim's place, so that there is no second; by
 *                                     itself a place that is ahead of all others
 *     slot-3                          a semaphore's slot, not a place
 *
 * What stands right before the number tells the kind.  The number is the server's
 * "%010d" of 32 bits: ten digits, or once it has run over a minus and nine or ten.
 * Numbers of a semaphore that make no sense make it a strange place, see core/line.h.  So
 * does a kind that we do not know, if Holdfast made it: it is of a version with another
 * layout, and nobody gets past it.  Anything else in the folder is foreign and no place in
 * the line.
 */
#ifndef HF_ZK_NAMES_H
#define HF_ZK_NAMES_H

#include "core/line.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hf_zk_style {
    HF_ZK_FOREIGN, /* no place */
    HF_ZK_CURATOR,
    HF_ZK_KAZOO,
    HF_ZK_RECIPE, /* x-<session>- */
    HF_ZK_NATIVE, /* semaphore, claim */
    HF_ZK_CLAIM,  /* claim, without a number */
    HF_ZK_SLOT,   /* slot-N: `number` is N */
};

/* A child's name taken apart. */
struct hf_zk_child {
    enum hf_zk_style style;
    struct hf_shape  shape;  /* kazoo's __lock__ is read as a mutex */
    int64_t          number; /* of the sequence */
};

#define HF_ZK_UUID       36  /* characters */
#define HF_ZK_CHILD_MAX  128 /* longest name of ours, NUL included */
#define HF_ZK_FOLDER_MAX (3 * 255 + 1)

/* Take a child's name of `size` bytes apart. */
void hf_zk_child_parse(const char *name, size_t size, struct hf_zk_child *ret);

/* What orders the places: a `claim` by itself comes first, and numbers that have run over
 * come last. */
uint64_t hf_zk_child_seq(const struct hf_zk_child *child);

/* May `claim` belong to that place?  A kind that we do not know may be another layout's. */
bool hf_zk_child_claims(const struct hf_zk_child *child);

/* Does the name carry this id (of HF_ZK_UUID characters), in either style? */
bool hf_zk_child_is(const char *name, size_t size, const char *uuid);

/* Was it made by Holdfast, whatever its style? */
bool hf_zk_child_is_holdfast(const char *name, size_t size);

/* The id of the ticket `id` of a client with the random numbers `salt`: the same
 * ever again, and nobody else's.  `ret` has room for HF_ZK_UUID + 1. */
void hf_zk_uuid(const uint64_t salt[2], uint64_t id, char *ret);

/* What to call a new place, up to where the server puts the number.  The style is
 * Curator's or kazoo's; semaphores and claims are called the same in both. */
void hf_zk_child_prefix(enum hf_zk_style style, const struct hf_shape *shape,
                        const char *uuid, char ret[HF_ZK_CHILD_MAX]);

/* The same with a number of our own: a place that keeps its rank when amended. */
void hf_zk_child_name(enum hf_zk_style style, const struct hf_shape *shape,
                      const char *uuid, int64_t number, char ret[HF_ZK_CHILD_MAX]);

/* The folder of a lock: its name, with %XX for what ZooKeeper does not take in a
 * path, for '%' itself, and so that it is never "zookeeper".  And back: false if no
 * lock is called so. */
void hf_zk_folder(const char *name, char ret[HF_ZK_FOLDER_MAX]);
bool hf_zk_folder_parse(const char *folder, size_t size, char ret[256]);

/* What the path of a node is, below the chroot `root` ("" or "/a/b"): something else, the
 * folder of a lock, or a place or slot in its line.  Of the last two `ret` is the lock. */
enum hf_zk_path { HF_ZK_PATH_FOREIGN, HF_ZK_PATH_FOLDER, HF_ZK_PATH_PLACE };
enum hf_zk_path hf_zk_path_parse(const char *root, const char *path, size_t size,
                                 char ret[256]);

#endif
