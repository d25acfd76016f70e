/* guard_link.c - the guardians' ends of their links to holdfast and libholdfast; see
 * guardian.h. */
#include "guard/guardian.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* If it fails, holdfast is dead and end of file comes next.  Or holdfast is stopped, and
 * has much to read.  In all other cases it would wait for news for ever: then neither
 * side may rely on the other any more.  sendmsg() is also what holdfast sends its orders
 * with: a sandbox without it is noticed before the command is started. */
static void send_news(int link, const struct guard_news *news)
{
    struct iovec  iov = { .iov_base = (void *)news, .iov_len = sizeof *news };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

    if (sendmsg(link, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN)
        shutdown(link, SHUT_RDWR);
}

static struct guard_news make_news(enum guard_news_kind kind)
{
    struct guard_news news;

    memset(&news, 0, sizeof news); /* padding is sent, too */
    news.kind = kind;
    return news;
}

void link_tell(int link, enum guard_news_kind kind, int value)
{
    struct guard_news news = make_news(kind);

    news.value = value;
    send_news(link, &news);
}

void link_tell_who(int link, enum guard_news_kind kind)
{
    struct guard_news news = make_news(kind);

    news.value = tree_members(getpid(), news.member);
    if (news.value != 0) /* -1: there are some, but /proc does not tell which */
        send_news(link, &news);
}

/* In this process the descriptors have other numbers. */
static void take_lifeline(struct msghdr *msg, struct guard_order *go)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(msg);
    size_t          size = header != NULL ? header->cmsg_len - CMSG_LEN(0) : 0;

    assert(size <= sizeof go->lifeline);
    go->lifelines = (int)(size / sizeof *go->lifeline); /* as many as arrived */
    if (size > 0)
        memcpy(go->lifeline, CMSG_DATA(header), size);
}

enum link_heard link_hear(int link, bool wait, struct guard_order *ret,
                          struct kept_key *key)
{
    char          control[CMSG_SPACE(sizeof(int) * GUARD_FDS_MAX)];
    struct iovec  iov[] = { { .iov_base = ret, .iov_len = sizeof *ret },
                            { .iov_base = key->bytes, .iov_len = GUARD_KEY_MAX } };
    struct msghdr msg = { .msg_iov = iov,
                          .msg_iovlen = 2,
                          .msg_control = control,
                          .msg_controllen = sizeof control };
    ssize_t       n = recvmsg(link, &msg, (wait ? 0 : MSG_DONTWAIT) | MSG_CMSG_CLOEXEC);

    /* ECONNRESET: holdfast died and had not read all.  The kernel says so once, before
     * the last orders. */
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
        return LINK_SILENT;
    if (n < (ssize_t)sizeof *ret)
        return LINK_ENDED;
    take_lifeline(&msg, ret);
    if (ret->kind == GUARD_KEY)
        key->size = (size_t)n - sizeof *ret;
    return LINK_ORDER;
}

bool link_has_ended(int link)
{
    struct pollfd on = { .fd = link };

    return poll(&on, 1, 0) > 0 && (on.revents & POLLHUP);
}

bool link_hear_program(int link, struct hf_guardian_word *ret, struct kept_key *key)
{
    struct iovec  parts[] = { { .iov_base = ret, .iov_len = sizeof *ret },
                              { .iov_base = key->bytes, .iov_len = GUARD_KEY_MAX } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ssize_t       n;

    /* ECONNRESET: the program died and never read our HELLO.  Its last words come
     * next. */
    do
        n = recvmsg(link, &message, MSG_TRUNC);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n < (ssize_t)sizeof *ret || ret->kind != HF_GUARDIAN_KEY)
        return false;
    n -= (ssize_t)sizeof *ret;
    key->size = n <= GUARD_KEY_MAX ? (size_t)n : 0;
    return true;
}
