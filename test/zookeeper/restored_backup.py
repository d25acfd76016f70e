#!/usr/bin/env -S python3 -B
"""restored_backup - a server goes back in time: a backup is restored, or its data are lost.

Clients live on, and have seen numbers that the server does not know any more.
"""
import re
import shutil

from holders import *  # noqa: F403

SESSION = 30
START = 90  # seconds, on a busy machine
LIMIT = 20  # seconds until all have recovered: nobody has to wait for a session to expire
cluster = None


def data():
    return cluster[1].folder / "data"


def start():
    cluster[1].start()
    cluster.wait(START)


def back_up(t):
    """Copy the server's data; returns where the copy is."""
    cluster[1].kill()
    shutil.copytree(data(), t.path("backup"))
    start()
    return t.path("backup")


def restore(backup):
    """`backup` None: the server has no data any more."""
    cluster[1].kill()
    shutil.rmtree(data())
    if backup is None:
        data().mkdir()
    else:
        shutil.copytree(backup, data())
    start()


def write_much(t):
    """Write so much that the restored server stays behind these numbers; wait until all three
    clients have seen one of them."""
    with zkwire.Client(cluster.address, session_ms=SESSION * 1000) as zk:
        path = zk.create(f"/{random_name()}")
        for _ in range(300):
            last = zk.set(path, b"").mzxid
        t.until("all clients have seen them",
                lambda: sum(zxid >= last for zxid in seen_by_others(zk.session)) == 3)


def seen_by_others(session):
    """The last number that the server sent to each client but this one."""
    found = re.findall(r"sid=0x([0-9a-f]+),.*lzxid=0x([0-9a-f]{1,15}),", cluster[1].word("cons"))
    return [int(zxid, 16) for sid, zxid in found if int(sid, 16) != session]


class Clients:
    """A holder, a waiter behind it, and a holder that acquires its lock again when it is lost."""

    def __init__(self, t):
        self.test, where, name = t, url(cluster, SESSION), random_name()
        self.holder = Holder(t, "hold", where, name)
        self.holder.until_says("held")
        self.waiter = Holder(t, "hold", where, name)
        with zkwire.Client(cluster.address) as zk:
            t.until("there is a waiter", lambda: len(zk.children(f"/{name}")) == 2)
        self.again = Holder(t, "again", where, random_name())
        self.again.until_says("held")

    def recover(self):
        began = now()
        self.holder.until_says("lost", limit=LIMIT)
        self.again.until_says("lost", limit=LIMIT)
        self.waiter.until_says("held", limit=LIMIT)
        self.again.until_says("held", 2, limit=LIMIT)
        for client in (self.waiter, self.again):
            self.test.contains(client.until_says("session", len(client.said("session")))[1],
                               "restored from a backup?")
        print(f"# all had recovered after {now() - began:.1f} s")
        for client in (self.waiter, self.again):
            self.test.equal(client.release(), "0", "release")


@case
def clients_recover_from_a_backup_without_their_session(t):
    backup = back_up(t)
    clients = Clients(t)
    write_much(t)
    restore(backup)
    clients.recover()


@case
def clients_recover_from_a_backup_with_their_session(t):
    """It also has our places.  They are lost all the same, since others may have held the lock since."""
    clients = Clients(t)
    backup = back_up(t)
    t.true(clients.holder.is_kept() and clients.again.is_kept(), "a restart ends sessions")
    write_much(t)
    restore(backup)
    clients.recover()


@case
def clients_recover_when_all_data_are_lost(t):
    clients = Clients(t)
    write_much(t)
    restore(None)
    clients.recover()


def a_token(t, servers):
    holder = Holder(t, "hold", url(servers, SESSION), "tokens")
    _, token = holder.until_says("held")
    t.equal(holder.release(), "0", "release")
    return token


@case
def tokens_rise_if_the_epoch_is_raised(t):
    """As docs/zookeeper.md advises administrators."""
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
