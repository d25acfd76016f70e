#!/usr/bin/env -S python3 -B
"""restored - a server that goes back in time: a backup is restored, or its data are lost.

Clients live on, and have seen what the server does not know any more.
"""
import re
import shutil

from hands import *  # noqa: F403

SESSION = 30
START = 90  # seconds, on a busy machine
LIMIT = 20  # seconds until all is well again: nobody has to wait for a session's end
cluster = None


def data():
    return cluster[1].folder / "data"


def start():
    cluster[1].start()
    cluster.wait(START)


def back_up(t):
    """What the server has; returns where that is."""
    cluster[1].kill()
    shutil.copytree(data(), t.path("backup"))
    start()
    return t.path("backup")


def restore(backup):
    """None: it has nothing any more."""
    cluster[1].kill()
    shutil.rmtree(data())
    if backup is None:
        data().mkdir()
    else:
        shutil.copytree(backup, data())
    start()


def write_much(t):
    """So that the server's numbers do not come near what it told before; until all three clients
    have seen one of these."""
    with zkwire.Client(cluster.address, session_ms=SESSION * 1000) as zk:
        path = zk.create(f"/{random_name()}")
        for _ in range(300):
            last = zk.set(path, b"").mzxid
        t.until("all clients have seen them",
                lambda: sum(zxid >= last for zxid in seen_by_others(zk.session)) == 3)


def seen_by_others(session):
    """The last number that the server told each client but this one."""
    found = re.findall(r"sid=0x([0-9a-f]+),.*lzxid=0x([0-9a-f]{1,15}),", cluster[1].word("cons"))
    return [int(zxid, 16) for sid, zxid in found if int(sid, 16) != session]


class Clients:
    """A holder, a waiter behind it, and a holder that begins again what it has lost."""

    def __init__(self, t):
        self.test, where, name = t, url(cluster, SESSION), random_name()
        self.holder = Hand(t, "hold", where, name)
        self.holder.hears("held")
        self.waiter = Hand(t, "hold", where, name)
        with zkwire.Client(cluster.address) as zk:
            t.until("there is a waiter", lambda: len(zk.children(f"/{name}")) == 2)
        self.again = Hand(t, "again", where, random_name())
        self.again.hears("held")

    def recover(self):
        began = now()
        self.holder.hears("lost", limit=LIMIT)
        self.again.hears("lost", limit=LIMIT)
        self.waiter.hears("held", limit=LIMIT)
        self.again.hears("held", 2, limit=LIMIT)
        for hand in (self.waiter, self.again):
            self.test.contains(hand.hears("session", len(hand.said("session")))[1],
                               "restored from a backup?")
        print(f"# all had what they want after {now() - began:.1f} s")
        for hand in (self.waiter, self.again):
            self.test.equal(hand.let_go(), "0", "release")


@case
def a_backup_that_does_not_know_our_session(t):
    backup = back_up(t)
    clients = Clients(t)
    write_much(t)
    restore(backup)
    clients.recover()


@case
def a_backup_that_knows_our_session(t):
    """And our places: they are gone, too, for others may have come and gone since."""
    clients = Clients(t)
    backup = back_up(t)
    t.true(clients.holder.is_kept() and clients.again.is_kept(), "a restart ends sessions")
    write_much(t)
    restore(backup)
    clients.recover()


@case
def all_is_lost(t):
    clients = Clients(t)
    write_much(t)
    restore(None)
    clients.recover()


def a_token(t, servers):
    hand = Hand(t, "hold", url(servers, SESSION), "tokens")
    _, token = hand.hears("held")
    t.equal(hand.let_go(), "0", "release")
    return token


@case
def tokens_rise_if_the_epoch_is_raised(t):
    """As docs/zookeeper.md tells administrators."""
    with zookeeper.ensemble(3) as three:
        def restart(change):
            for server in three.servers:
                server.kill()
            for server in three.servers:
                change(server.folder / "data", t.path(f"backup{server.folder.name}"))
                server.start()
            three.wait(START)

        def put_back(now_there, backup):
            shutil.rmtree(now_there)
            shutil.copytree(backup, now_there)

        def put_back_and_raise(now_there, backup):
            put_back(now_there, backup)
            (now_there / "version-2/acceptedEpoch").write_text(str(told >> 32))

        a_token(t, three)
        restart(shutil.copytree)
        for _ in range(2):
            told = a_token(t, three)
        restart(put_back)
        t.true(a_token(t, three) < told, "without that they fall")
        restart(put_back_and_raise)
        t.true(a_token(t, three) > told, "tokens fall")


if __name__ == "__main__":
    with store("zk"), zookeeper.standalone(config={"maxSessionTimeout": 40000}) as cluster:
        hf.main()
