/* link.c - see link.h. */
#include "link.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void send_news(int link, const struct guard_news *news)
{
    /* If nobody hears it, end of file comes next. */
    send(link, news, sizeof *news, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static struct guard_news make_news(enum guard_news_kind kind)
{
    struct guard_news news;

    memset(&news, 0, sizeof news); /* padding travels too */
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
    if (news.value > 0)
        send_news(link, &news);
}
