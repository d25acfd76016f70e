#!/usr/bin/env -S python3 -B
"""unreachable_server - a server that cannot be reached, or is something else, is reported in one
clear line, in time and without a password; when it is back, requests go on.

    test/fault/unreachable_server.py [FOLDER] redis|postgres|zookeeper [CASE ...]
"""
from stores import *  # noqa: F403
import stores


@case
def it_works_when_nothing_is_wrong(t):
    works(t, row.url())


@case
def a_refused_connection_is_reported(t):
    with nobody() as at:
        out_of_reach(t, row.url(at), f"{row.called(at)} cannot be reached: connection refused")


@case
def an_unknown_host_is_reported(t):
    host = "no-host-since-it-is-longer-than-the-63-bytes-that-a-label-may-have"  # no DNS is asked
    out_of_reach(t, row.url(f"{host}:99"), f"{row.called(f'{host}:99')} cannot be found: ")


@case
def another_protocol_is_reported(t):
    for text in (b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(40)):
        with answering(text) as at:
            out_of_reach(t, row.url(at), row.not_ours(at))


@case
def a_silent_server_is_reported(t):
    with answering(b"") as at:
        out_of_reach(t, row.url(at), f"{row.called(at)} does not answer")


@case
def a_stopped_server_is_reported(t):
    row.freeze()
    try:
        out_of_reach(t, row.url(), "does not answer")
    finally:
        row.thaw()
    works(t, row.url())


@case
def requests_go_on_when_the_server_comes_back(t):
    row.down()
    try:
        out_of_reach(t, row.url(), "cannot be reached: connection refused")
        refused(t, 69, "cannot be reached: connection refused", "wait", "-w", "0.5", "a", "--url", row.url(), limit=MANY)
        run = t.start("run", "-w", "20", "a", "--url", row.url(), "--", "echo", "hi")
        wait = t.start("wait", "-w", "20", "b", "--url", row.url())
    finally:
        row.up()
    done = t.finish(run)
    t.equal((done.code, done.out), (0, "hi\n"), done.err)
    done = t.finish(wait)
    t.equal(done.code, 0, done.err)


# As root of a namespace of its own, where the name "several" has the addresses of $0.
NAMED = """for at in $0; do echo "$at several"; done >$D/hosts
mount --bind $D/hosts /etc/hosts && exec "$@" """


def gets_past(t, bad):
    """One name has two addresses, and at the first is a server that does this."""
    tried = []

    def serve_one(link, _keep):
        tried.append(link)
        bad(link)

    real = int(stores.server.address.partition(":")[2])
    with between(real, lambda _from_server, data: data, "127.0.0.3") as good:
        port = int(good.partition(":")[2])
        with listening(serve_one, "127.0.0.2", port):
            done = t.run("-rm", "sh", "-c", NAMED, "127.0.0.2 127.0.0.3", hf.HOLDFAST, "run", "-w", "20", "a",
                         "--url", row.url(f"several:{port}"), "--", "echo", "hi", executable="unshare", called="unshare")
            if "unshare" in done.err:
                raise hf.Skip("namespaces are not permitted here")
            t.equal((done.code, done.out), (0, "hi\n"), done.err)
            t.true(tried, "the bad server was not tried")


@case
def a_name_of_several_servers_gets_past_one_that_hangs(t):
    gets_past(t, lambda link: None)


@case
def a_name_of_several_servers_gets_past_one_that_hangs_up(t):
    gets_past(t, lambda link: link.close())


play()
