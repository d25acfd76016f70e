#!/usr/bin/env -S python3 -B
"""server_differs - a follower shows a node that the other servers do not have.

The test removes one transaction from the follower's log: the end of a session with the node of
a holder.  So the follower knows as many transactions as the others, and never learns what it has
missed.
"""
import struct
import uuid

import txnlog
from holders import *  # noqa: F403

SESSION = 4
ERROR, CLOSE_SESSION = -1, -11  # kinds of transactions
cluster = None
KINDS = [  # a holder's node, and the options of a command that waits behind it
    ("lock-", []), ("__WRIT__", ["-s"]), ("__READ__", ["-x"]), ("sem-2-2-", ["--slots", "2"]),
]


def without_end(record, session):
    """A record that does nothing, to replace the end of this session; None: it is another record."""
    owner, *_, kind = txnlog.HEAD.unpack_from(record)
    if kind != CLOSE_SESSION or owner != session:
        return None
    return record[:28] + struct.pack(">ii", ERROR, 0)


def make_ghosts(t, follower, *kinds):
    """Make nodes of holders that only this server shows; returns their paths, each in a folder of
    its own."""
    with zkwire.Client(cluster[cluster.leader()].address) as zk:
        folders = [zk.create(f"/{random_name()}", mode=zkwire.CONTAINER) for _ in kinds]
        paths = [zk.create(f"{folder}/_c_{uuid.uuid4()}-{kind}", mode=zkwire.EPHEMERAL_SEQUENTIAL)
                 for folder, kind in zip(folders, kinds)]
        session = zk.session
    with zkwire.Client(cluster[follower].address) as zk:
        zk.sync()
        t.equal([path for path in paths if zk.exists(path)], [], "nodes of a session that has ended")
    cluster[follower].kill()
    changed = txnlog.rewrite(cluster[follower], lambda record: without_end(record, session))
    t.equal(changed, 1, "records of its end")
    cluster[follower].start()
    cluster.wait()
    return paths


def lock_of(path):
    return path.split("/")[1]


def a_follower():
    cluster.wait()
    return next(number for number in (1, 2, 3) if number != cluster.leader())


def shows(server, path):
    """On a busy machine a follower may leave its leader once more, and close its connections."""
    for _ in range(10):
        try:
            with zkwire.Client(server.address) as zk:
                zk.sync()
                return zk.exists(path) is not None
        except (OSError, zkwire.Error):
            cluster.wait()
    raise hf.Failure(f"{server.address} ends every connection")


def servers_that_show(path):
    return [number for number, server in enumerate(cluster.servers, 1) if shows(server, path)]


@case
def only_the_follower_shows_the_node(t):
    follower = a_follower()
    path, = make_ghosts(t, follower, "lock-")
    t.equal(servers_that_show(path), [follower])


@case
def a_waiter_moves_to_another_server(t):
    follower = a_follower()
    path, = make_ghosts(t, follower, "lock-")
    behind = 0
    for _ in range(30):  # servers are tried in random order
        began = now()
        client = Holder(t, "hold", url(cluster, SESSION), lock_of(path))
        behind += client.until_says("held")[0] - began > SESSION / 2
        t.equal(client.release(), "0", "release")
        if behind == 2:
            return
    t.true(False, "none waited behind the node")


@case
def a_waiter_without_another_server_fails(t):
    """For every kind of lock."""
    follower = a_follower()
    where = url([cluster[follower]], SESSION)
    paths = make_ghosts(t, follower, *(kind for kind, _ in KINDS))
    waiting = [t.start("run", "--url", where, *options, lock_of(path), "--", "true")
               for path, (_, options) in zip(paths, KINDS)]
    for path, process in zip(paths, waiting):
        done = t.finish(process)
        t.true(done.code not in (0, 75), f"exit code {done.code}")
        t.contains(done.err, f"{cluster[follower].address} shows a node that the other servers do not have, {path}")


@case
def doctor_names_the_server_that_differs(t):
    follower = a_follower()
    path, = make_ghosts(t, follower, "lock-")
    for servers in (cluster, [cluster[follower], cluster[cluster.leader()]]):
        found = findings(t, url(servers, SESSION), lock_of(path), code=78)
        tells(t, found, "fault", "servers", cluster[follower].address, "empty its data folder")
        t.contains(found["servers"]["text"], f"in /{lock_of(path)}")
    t.equal(findings(t, url(cluster, SESSION), random_name())["servers"]["level"], "ok")
    with zkwire.Client(cluster.servers[0].address) as zk:  # a folder that is the same everywhere
        folder = zk.create(f"/{random_name()}")
        zk.create(f"{folder}/_c_{uuid.uuid4()}-lock-", mode=zkwire.EPHEMERAL_SEQUENTIAL)
        found = findings(t, url(cluster, SESSION), folder[1:])
        t.equal(found["servers"]["text"], f"all 3 in the URL show the same in {folder}")


@case
def doctor_names_a_server_that_is_down(t):
    follower = a_follower()
    cluster[follower].kill()
    cluster.wait()
    found = findings(t, url(cluster, SESSION), random_name())
    tells(t, found, "warn", "servers", f"{cluster[follower].address} does not answer")
    cluster[follower].start()
    cluster.wait()


if __name__ == "__main__":
    with store("zk"), zookeeper.ensemble(3) as cluster:
        hf.main()
