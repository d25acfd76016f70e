/* error.c - the name, the text and the class of every result code. */
#include "holdfast.h"

enum nature { PLAIN, RETRY, LOST };

static const struct {
    int         code;
    const char *name;
    const char *text;
    enum nature nature;
} table[] = {
    { 0, "HF_OK", "success", PLAIN },
    { HF_EINVAL, "HF_EINVAL", "invalid argument", PLAIN },
    { HF_ENOMEM, "HF_ENOMEM", "out of memory", RETRY },
    { HF_EBUSY, "HF_EBUSY", "held by somebody else", RETRY },
    { HF_ETIMEOUT, "HF_ETIMEOUT", "not done within the time limit", RETRY },
    { HF_ECANCELED, "HF_ECANCELED", "canceled", PLAIN },
    { HF_ELOST, "HF_ELOST", "the lock was lost while held", LOST },
    { HF_EDOWN, "HF_EDOWN", "the store cannot be reached", RETRY },
    { HF_EDENIED, "HF_EDENIED", "the store denies access", PLAIN },
    { HF_EFORK, "HF_EFORK", "opened by the parent process", PLAIN },
    { HF_EOWNER, "HF_EOWNER", "held by another thread", PLAIN },
    { HF_ESTATE, "HF_ESTATE", "the handle is not in a state that allows this call",
      PLAIN },
    { HF_EMISMATCH, "HF_EMISMATCH", "the name is in use as another kind of lock", PLAIN },
    { HF_EFULL, "HF_EFULL", "no room in the store or its queue", RETRY },
    { HF_ECORRUPT, "HF_ECORRUPT", "the store's data are damaged", PLAIN },
    { HF_EUNSUPPORTED, "HF_EUNSUPPORTED", "not supported", PLAIN },
    { HF_ENOTFOUND, "HF_ENOTFOUND", "not found", PLAIN },
    { HF_ESTORE, "HF_ESTORE", "the store failed", RETRY },
    { HF_EDEADLOCK, "HF_EDEADLOCK", "this thread would wait for itself", PLAIN },
    { HF_EEXHAUSTED, "HF_EEXHAUSTED", "the store's numbers for this name are used up",
      PLAIN },
};

#define COUNT (sizeof table / sizeof *table)

const char *hf_errname(int code)
{
    for (size_t i = 0; i < COUNT; i++)
        if (table[i].code == code)
            return table[i].name;
    return "HF_UNKNOWN";
}

const char *hf_strerror(int code)
{
    for (size_t i = 0; i < COUNT; i++)
        if (table[i].code == code)
            return table[i].text;
    return "unknown error";
}

static bool is(int code, enum nature nature)
{
    for (size_t i = 0; i < COUNT; i++)
        if (table[i].code == code)
            return table[i].nature == nature;
    return false;
}

bool hf_err_retryable(int code)
{
    return is(code, RETRY);
}

bool hf_err_lost(int code)
{
    return is(code, LOST);
}
