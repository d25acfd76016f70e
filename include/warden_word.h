/* warden_word.h - what libholdfast and its warden, `holdfast warden`, say to each other.
 * Between these two alone: it is not installed.  src/client/warden.h tells when what is
 * said. */
#ifndef HF_WARDEN_WORD_H
#define HF_WARDEN_WORD_H

#include <stdint.h>

/* The warden's only packet.  Whoever changes anything here changes the number. */
#define HF_WARDEN_HELLO "holdfast warden 2"

enum hf_warden_kind { HF_WARDEN_A_WILL, HF_WARDEN_DISMISSED, HF_WARDEN_EXECUTE };

/* What each packet of the library begins with; with A_WILL the will follows. */
struct hf_warden_word {
    enum hf_warden_kind kind;
    int32_t             lease_ms;   /* A_WILL: the session may live on for so long */
    char                scheme[24]; /* A_WILL: of its URL; "redis", with a NUL */
};

#endif
