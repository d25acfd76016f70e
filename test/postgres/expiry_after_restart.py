#!/usr/bin/env -S python3 -B
"""expiry_after_restart - renewal numbers count only in the era in which they were drawn.

A server may be restarted with older data: a restored snapshot, or after a crash with fsync = off.
Then it draws the same numbers again, on the same timeline."""
import pathlib
import shutil
import sys
import time

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import postgres  # noqa: E402

TTL = 4  # seconds
server = None


def renewals():
    """The renewal numbers of holder ("g") and waiter ("w")."""
    return dict(server.sql("SELECT t.state::text, s.renewal FROM holdfast.session s "
                           "JOIN holdfast.every_place t USING (sid)"))


def waiter_of_a_dead_holder(t, url):
    """A waiter that could expire the dead holder with its next call."""
    t.env["HOLDFAST_URL"] = f"{url}?ttl={TTL}s"
    holder = t.hold("a")
    waiter = t.start("run", "-w", "60", "a", "--", "date", "+%s.%N")
    t.waiting("a", 1)
    kill_all_of(holder)
    t.until("the waiter has drawn a later number", lambda: renewals()["w"] > renewals()["g"])
    return waiter


def granted_after_restart(t, url):
    """How long the waiter waits after a restart, though the holder was dead long before."""
    waiter = waiter_of_a_dead_holder(t, url)
    server.end("immediate")
    time.sleep(1.3 * TTL)  # the holder's lease is over
    server.start()
    back = time.time()
    return float(t.finish(waiter).out) - back


@case
def numbers_from_before_a_restart_expire_no_session(t):
    waited = granted_after_restart(t, server.url)
    print(f"# {waited:.1f} s after the server was back")
    t.true(TTL <= waited < 2.5 * TTL, f"{waited} s")


@case
def the_same_holds_behind_a_pooler_that_keeps_the_connection(t):
    waited = granted_after_restart(t, server.pgbouncer().url)
    print(f"# {waited:.1f} s after the server was back")
    t.true(TTL <= waited < 2.5 * TTL, f"{waited} s")


@case
def numbers_from_before_a_restore_expire_no_session(t):
    """Call the functions as a client would that has not noticed the restart yet."""
    def call(text):
        return server.sql(f"SELECT {text}")[0]

    def hello(sid, connection, fresh):
        return server.sql(f"SELECT number, era FROM holdfast.hello({version}, '{sid}', {connection}, {TTL}000, {fresh}, '')")[0]

    def expire(era, number):
        return call(f"holdfast.expire_silent('{'b' * 16}', '{era}', ARRAY[{number}]::bigint[], ARRAY[{10**9}]::bigint[])")[0]

    t.equal(t.run("init", "--url", server.url).code, 0)
    version = call("(SELECT version FROM holdfast.head)")[0]
    hello("a" * 16, 1, True), hello("b" * 16, 1, True)
    server.end()
    snapshot = pathlib.Path(f"{server.data}.snapshot")
    shutil.copytree(server.data, snapshot)
    server.start()
    server.sql("SELECT count(nextval('holdfast.renewal')) FROM generate_series(1, 1000)")
    number, era = hello("b" * 16, 2, False)
    server.end("immediate")
    shutil.rmtree(server.data)
    shutil.move(snapshot, server.data)
    for path in (server.data, *server.data.rglob("*")):
        postgres.give_to_servant(path)
    server.start()
    again, now = hello("a" * 16, 2, False)
    t.true(again < number and era != now and era.split()[0] == now.split()[0], (number, era, again, now))
    server.sql("UPDATE holdfast.session SET renewed = 0")  # so the server's clock agrees
    t.equal(expire(era, number), 0, "with a number of the lost era")
    t.equal(expire(now, number), 1, "with a number of this era")
    call(f"holdfast.bye('{'b' * 16}', NULL)")


if __name__ == "__main__":
    with store("postgres"), postgres.standalone() as server:
        hf.main()
