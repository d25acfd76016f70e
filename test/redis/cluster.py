#!/usr/bin/env -S python3 -B
"""cluster - a Redis cluster, seen through the command: any server can be named, a replica takes over,
and our slot moves."""
import contextlib
import sys
import time

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import redis  # noqa: E402
import resp  # noqa: E402
from command_case import case, holders, settle  # noqa: E402


server = None


def at(where=None, ttl="2s", prefix="holdfast"):
    return f"redis://{(where or server).address}?ttl={ttl}&prefix={prefix}"


@contextlib.contextmanager
def cluster():
    """A master of all slots, its replica, and a server without slots."""
    with contextlib.ExitStack() as stack:
        def one():
            bus = stack.enter_context(sandbox.reserve_port()).getsockname()[1]
            return stack.enter_context(redis.standalone(options=[
                "cluster-enabled yes", f"cluster-port {bus}", "cluster-node-timeout 2000"])), bus
        nodes = [one() for _ in range(3)]
        (master, bus), (replica, _), (other, _) = nodes
        links = [stack.enter_context(node.client()) for node, _ in nodes]
        links[0].call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        for link in links[1:]:
            link.call("CLUSTER", "MEET", "127.0.0.1", master.port, bus)
        me = links[0].call("CLUSTER", "MYID")
        for link in links[1:]:
            redis.until("they met", lambda: me in link.call("CLUSTER", "NODES"))
        redis.until("it follows", lambda: follow(links[1], me))
        for link in links:
            redis.until("it is whole", lambda: "cluster_state:ok" in link.call("CLUSTER", "INFO"))
        redis.until("all know", lambda: all(me in link.call("CLUSTER", "NODES") and
                    "slave " in link.call("CLUSTER", "NODES") for link in links))
        redis.until("it is up", lambda: "master_link_status:up" in links[1].call("INFO", "replication"))
        yield master, replica, other, links


def follow(link, id):
    try:
        return link.call("CLUSTER", "REPLICATE", id)
    except resp.Error:
        return None


@case
def any_server_of_a_cluster_can_be_named(t):
    with cluster() as (master, replica, other, links):
        settle(t, at(master))
        names = [node.address for node in (master, replica, other)]
        with sandbox.reserve_port() as keeper:
            nobody = f"127.0.0.1:{keeper.getsockname()[1]}"
            for named in (*names, ",".join([nobody, *names])):
                done = t.run("run", "-q", "-w", "9", "a", "--url", f"redis://{named}?ttl=2s", "--", "echo", "hi")
                t.equal((done.code, done.out, done.err), (0, "hi\n", ""), named)
        holder = t.hold("long")
        (token,) = holders(t, "long")
        links[1].call("CLUSTER", "FAILOVER")
        t.until("roles are swapped", lambda: "role:slave" in links[0].call("INFO", "replication"))
        done = t.run("run", "-w", "9", "b", "--", "echo", "hi")  # by way of the former master
        t.equal((done.code, done.out), (0, "hi\n"), done.err)
        links[1].call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        done = t.run("run", "-w", "3", "long", "--", "true")
        t.equal((done.code, holder.poll()), (75, None), done.err)
        t.equal(holders(t, "long"), [token])
        t.end(holder)


@case
def several_servers_must_be_a_cluster(t):
    with redis.standalone() as one:
        done = t.run("run", "-w", "9", "a", "--url", f"redis://{one.address},{server.address}?ttl=1s",
                     "--", "true")
        t.equal(done.code, 64, done.err)
        t.contains(done.err, "is not in a cluster: name one server only")


# ---- A slot that moves ---------------------------------------------------------------------


def lives(t, holder, seconds, when):
    """Its lock is not lost meanwhile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        t.equal(holder.poll(), None, f"the holder's status, {when}")
        time.sleep(0.05)


@case
def a_slot_moves_and_holders_keep_their_locks(t):
    """However long each step of it takes."""
    with cluster() as (master, _, other, links):
        settle(t, at(master))
        holder, claim = t.hold("long"), t.hold("mine", "--claim")
        (token,) = holders(t, "long")
        slot = links[0].call("CLUSTER", "KEYSLOT", "{holdfast}:state")
        here, there = (links[i].call("CLUSTER", "MYID") for i in (0, 2))
        links[2].call("CLUSTER", "SETSLOT", slot, "IMPORTING", here)
        links[0].call("CLUSTER", "SETSLOT", slot, "MIGRATING", there)
        for one in (holder, claim):
            lives(t, one, 2.5, "while the slot is marked")
        done = t.run("run", "-w", "9", "short", "--", "echo", "hi")
        t.equal((done.code, done.out), (0, "hi\n"), done.err)
        keys = links[0].call("CLUSTER", "GETKEYSINSLOT", slot, 10)
        links[0].call("MIGRATE", "127.0.0.1", other.port, "", 0, 5000, "KEYS", *keys)
        for one in (holder, claim):
            lives(t, one, 2.5, "while the keys are there, and the slot is not")
        done = t.run("run", "-w", "9", "short", "--", "echo", "hi")
        t.equal((done.code, done.out), (0, "hi\n"), done.err)
        for link in (links[2], links[0]):
            link.call("CLUSTER", "SETSLOT", slot, "NODE", there)
        for one in (holder, claim):
            lives(t, one, 2.5, "when it has moved")
        done = t.run("run", "-w", "0.5", "long", "--", "true")
        t.equal((done.code, holders(t, "long")), (75, [token]), done.err)
        t.equal([t.end(one).code for one in (holder, claim)], [128 + 15] * 2)


if __name__ == "__main__":
    with store("redis"), redis.standalone() as server:
        hf.main()
