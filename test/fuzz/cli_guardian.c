/* cli_guardian.c - anything as packets to a guardian: the orders of `holdfast run` and
 * `hold`, and the words of libholdfast.  The first byte of a packet says how long it is,
 * the second how many descriptors come along. */
#include "fuzz/fuzz.h"

#include "guard/guard_link.c"
#include "guard/timer.c"
#include "guard/tree.c"

#include <fcntl.h>

#define PACKETS 16
#define SCALE   48 /* so that a byte can ask for a packet that is too long */

static void send_packet(int link, const uint8_t *bytes, size_t size, unsigned fds)
{
    char          control[CMSG_SPACE(sizeof(int) * 16)] = { 0 };
    struct iovec  iov = { .iov_base = (void *)bytes, .iov_len = size };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

    if (fds > 0) {
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * fds);
        struct cmsghdr *header = CMSG_FIRSTHDR(&msg);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * fds);
        for (unsigned i = 0; i < fds; i++)
            memcpy(CMSG_DATA(header) + i * sizeof(int), &link, sizeof link);
    }
    ssize_t n = sendmsg(link, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    assert(n == (ssize_t)size);
}

/* As many packets as were sent are heard, whatever is in them; a key is never larger
 * than its room, and all descriptors that came are ours to close. */
static void hear_order(int link, struct kept_key *key, size_t sent, unsigned fds)
{
    struct guard_order order = { 0 };
    struct timer       timer;
    size_t             before = key->size;

    enum link_heard heard = link_hear(link, false, &order, key);
    assert(heard == (sent < sizeof order ? LINK_ENDED : LINK_ORDER));
    if (heard != LINK_ORDER)
        return;
    assert(order.lifelines >= 0 && order.lifelines <= GUARD_FDS_MAX);
    assert((unsigned)order.lifelines <= fds);
    for (int i = 0; i < order.lifelines; i++)
        assert(close(order.lifeline[i]) == 0);
    assert(key->size <= GUARD_KEY_MAX);
    assert(key->size == before || order.kind == GUARD_KEY);
    assert(order.kind != GUARD_KEY || key->size <= sent - sizeof order);
    assert(timer_open(&timer) == 0);
    timer_set_deadline(&timer, order.deadline, 5 * (int64_t)1000000000);
    assert(timer.deadline == (order.deadline > 0 ? order.deadline : 0));
    assert((timer.ask_at == INT64_MAX) == (order.deadline == INT64_MAX));
    close(timer.fd);
}

static void hear_word(int link, struct kept_key *key, size_t sent)
{
    struct hf_guardian_word word = { .kind = HF_GUARDIAN_DISMISSED };

    bool is_key = link_hear_program(link, &word, key);
    assert(key->size <= GUARD_KEY_MAX);
    assert(!is_key || sent >= sizeof word);
    assert(!is_key || key->size == 0 || key->size == sent - sizeof word);
}

static void send_all(const uint8_t *bytes, size_t size, bool orders)
{
    static uint8_t  room[GUARD_KEY_MAX];
    struct kept_key key = { .bytes = room };
    uint8_t         packet[256 * SCALE];
    int             ends[2];

    assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    for (int i = 0; i < PACKETS && size >= 2; i++) {
        size_t   length = (size_t)bytes[0] * (orders ? 1 : SCALE);
        bool     whole = orders && length >= sizeof(struct guard_order);
        unsigned fds = whole ? bytes[1] % 12 : 0; /* else the guardian exits */
        size_t   taken = length < size - 2 ? length : size - 2;
        memset(packet, 0, length);
        memcpy(packet, bytes + 2, taken);
        bytes += 2 + taken;
        size -= 2 + taken;
        if (length == 0)
            continue; /* it would look like the end */
        send_packet(ends[0], packet, length, fds);
        if (orders)
            hear_order(ends[1], &key, length, fds);
        else
            hear_word(ends[1], &key, length);
    }
    close(ends[0]);
    struct guard_order order;
    assert(link_has_ended(ends[1]));
    assert(link_hear(ends[1], true, &order, &key) == LINK_ENDED);
    close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    send_all(bytes, size, true);
    send_all(bytes, size, false);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_run(argc, argv, __FILE__, 5000);
}
#endif
