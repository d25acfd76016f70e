/* guardian_word.h - the packets between libholdfast and its guardian, `holdfast
 * guardian`.  Not installed: both are of the same version.  src/client/end/end.h says
 * when each packet is sent. */
#ifndef HF_GUARDIAN_WORD_H
#define HF_GUARDIAN_WORD_H

#include <stdint.h>

/* The only packet that the guardian sends.  A change of the structs here changes the
 * number. */
#define HF_GUARDIAN_HELLO "holdfast guardian 2"

enum hf_guardian_kind { HF_GUARDIAN_KEY, HF_GUARDIAN_DISMISSED, HF_GUARDIAN_END_SESSION };

/* Every packet of the library begins with this; in a KEY the session key follows. */
struct hf_guardian_word {
    enum hf_guardian_kind kind;
    int32_t lease_ms;   /* KEY: how long the session may outlive its process */
    char    scheme[24]; /* KEY: of its URL; "redis", with a NUL */
};

#endif
