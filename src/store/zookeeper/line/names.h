/* names.h - the names of a lock's nodes, ours and those of other libraries.
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
 *     _c_<uuid>-token-9-__READ__...   a place that was downgraded; kazoo's: __token-9
 *     claim                           companion of a claim's place, so that there is no
 *                                     second; by itself a place ahead of all others
 *     slot-3                          companion of a semaphore's place: its slot
 *
 * The text before the number gives the kind.  The number is the server's "%010d" of 32
 * bits: ten digits, or after an overflow a minus and nine or ten.  A semaphore whose
 * numbers make no sense is an invalid place, see core/line.h.  So is a node that
 * Holdfast made but whose kind we do not know: it is from a version with another layout,
 * and nobody gets past it.  Anything else in the folder is foreign, and no place in the
 * line.
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

/* A parsed name. */
struct hf_zk_child {
    enum hf_zk_style style;
    struct hf_shape  shape;  /* kazoo's __lock__ counts as a mutex */
    int64_t          number; /* of the sequence */
};

#define HF_ZK_UUID       36  /* characters */
#define HF_ZK_CHILD_MAX  128 /* longest name of ours, NUL included */
#define HF_ZK_FOLDER_MAX (3 * 255 + 1)

/* Parse a name of `size` bytes. */
void hf_zk_child_parse(const char *name, size_t size, struct hf_zk_child *ret);

/* The order of places: a `claim` by itself comes first, and numbers that overflowed come
 * last. */
uint64_t hf_zk_child_seq(const struct hf_zk_child *child);

/* May `claim` belong to that place?  An unknown kind may be a claim in another layout. */
bool hf_zk_child_claims(const struct hf_zk_child *child);

/* Does the name carry this id (of HF_ZK_UUID characters), in either style? */
bool hf_zk_child_is(const char *name, size_t size, const char *uuid);

/* Did Holdfast make it, in whatever style? */
bool hf_zk_child_is_holdfast(const char *name, size_t size);

/* The uuid of the place `id` of a client with the random numbers `salt`: always the same,
 * and different from everybody else's.  `ret` has room for HF_ZK_UUID + 1. */
void hf_zk_uuid(const uint64_t salt[2], uint64_t id, char *ret);

/* The 32 hexadecimal digits of an id, without its dashes. */
void hf_zk_uuid_bare(const char *uuid, char ret[33]);

/* The name of a new place, up to where the server appends the number.  The style is
 * Curator's or kazoo's; semaphores and claims have the same names in both. */
void hf_zk_child_prefix(enum hf_zk_style style, const struct hf_shape *shape,
                        const char *uuid, char ret[HF_ZK_CHILD_MAX]);

#define HF_ZK_TOKEN_MOST 28 /* characters of a token in a name */

/* A whole name: a place keeps its position when it is downgraded, and its token, which its
 * name carries then (0: it does not). */
void hf_zk_child_name(enum hf_zk_style style, const struct hf_shape *shape,
                      const char *uuid, uint64_t token, int64_t number,
                      char ret[HF_ZK_CHILD_MAX]);

/* The token that the name carries; 0: that is the czxid of the node. */
uint64_t hf_zk_child_token(const char *name, size_t size);

/* The folder of a lock: its name, with %XX for characters that ZooKeeper does not allow
 * in a path, for '%' itself, and so that it is never "zookeeper".  And back: false if it
 * is not the folder of any lock. */
void hf_zk_folder(const char *name, char ret[HF_ZK_FOLDER_MAX]);
bool hf_zk_folder_parse(const char *folder, size_t size, char ret[256]);

/* What a path below the chroot `root` ("" or "/a/b") refers to: the folder of a lock, a
 * place or slot in its line, or something else.  In the first two cases `ret` is the
 * lock's name. */
enum hf_zk_path { HF_ZK_PATH_FOREIGN, HF_ZK_PATH_FOLDER, HF_ZK_PATH_PLACE };
enum hf_zk_path hf_zk_path_parse(const char *root, const char *path, size_t size,
                                 char ret[256]);

#endif
