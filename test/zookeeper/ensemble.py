#!/usr/bin/env python3
"""ensemble - three servers, whose leaders die, hang, and come back.

HF_KILLS: how often the leader is killed while processes take turns (2).
"""
from holders import *  # noqa: F403

KILLS = int(os.environ.get("HF_KILLS", "2"))
SESSION = 8
LONG = 40  # for cases in which a busy machine must not lose the lock
cluster = None


def all_up():
    for server in cluster.servers:
        server.thaw()
        if not server.running():
            server.start()
    cluster.wait()


def until_serving(t, where):
    """A new client is served."""
    holder = Holder(t, "hold", where, random_name())
    holder.until_says("held")
    t.equal(holder.release(), "0", "release")


def kill_leader(t):
    """Returns its number when the others have elected a new one."""
    cluster.wait()
    number = cluster.leader()
    cluster[number].kill()
    cluster.wait()
    return number


@case
def turns_continue_while_the_leader_is_killed(t):
    all_up()
    where, name = url(cluster, LONG), random_name()
    workers = [Holder(t, "turns", where, name) for _ in range(8)]
    holder = Holder(t, "hold", where, random_name())
    _, token = holder.until_says("held")

    def taken():
        return sum(len(worker.said("released")) for worker in workers)

    def until_more(what):
        before = taken()
        t.until(what, lambda: taken() > before + 40)

    for _ in range(KILLS):
        until_more("they take turns")
        number = kill_leader(t)
        until_more("they go on")
        t.true(holder.is_kept(), "the holder lost it")
        cluster[number].start()
        cluster.wait()
    for worker in workers:
        t.equal(worker.release(), "0", "the last release of a worker")
        t.equal({result for _, result in worker.said("released")}, {"0"}, "turns lost")
        t.equal(worker.said("failed"), [], "failures")
    _, deadline, least = holder.belief()
    t.equal(holder.said("held"), [[holder.said("held")[0][0], token]], "one grant")
    t.equal(holder.release(), "0", "release of the lock that was held all the time")
    judge(t)
    print(f"# {taken()} turns, {KILLS} kills; the holder had {least / 1000:.2f} s of "
          f"{LONG} left at least")


@case
def locks_survive_a_leader_that_hangs(t):
    all_up()
    where = url(cluster, SESSION)
    holders = [Holder(t, "hold", where, random_name()) for _ in range(3)]
    for holder in holders:
        holder.until_says("held")
        holder.belief()
    number = cluster.leader()
    cluster[number].freeze()
    try:
        until_serving(t, where)  # the others have noticed
        before = now()
        for holder in holders:
            # Each has heard from a server since, so its deadline has been renewed.
            t.until("the deadline rises", lambda: holder.belief()[1] > before + SESSION * 0.6)
    finally:
        cluster[number].thaw()
    least = min(int(said[2]) for holder in holders for said in holder.said("left")[1:])
    for holder in holders:
        t.true(holder.is_kept(), "it was lost")
        t.equal(holder.release(), "0", "release")
    cluster.wait()
    print(f"# {least / 1000:.2f} s of {SESSION} were left at least")


@case
def locks_are_lost_when_most_servers_die(t):
    all_up()
    where, name = url(cluster, 4), random_name()
    holder = Holder(t, "again", where, name, limit=90)
    granted, token = holder.until_says("held")
    waiter = Holder(t, "hold", where, name, limit=7)
    t.until("there is a waiter", lambda: in_line(name) == 2)
    survivor = cluster.leader()
    for number in {1, 2, 3} - {survivor}:
        cluster[number].kill()
    died = now()
    late = Holder(t, "hold", where, name, limit=6)
    lost, deadline, code = holder.until_says("lost")
    t.equal(code, "HF_ELOST", "release")
    t.true(lost <= deadline + 2, f"LOST {lost - deadline:.3f} s after the deadline")
    t.true(died < deadline < died + 4, f"the deadline is {deadline - died:.3f} s after the end")
    for client in (waiter, late):
        _, why, _ = client.until_says("failed")
        t.equal(why, "HF_EDOWN", "the end of a wait without servers")
        t.equal(client.said("held"), [], "grants without a quorum")
    t.equal(len(holder.said("held")), 1, "grants without a quorum")
    all_up()
    _, again = holder.until_says("held", 2)
    t.true(again > token, "the token rises")
    t.equal(holder.release(), "0", "release")
    until_serving(t, where)
    print(f"# LOST {lost - died:.2f} s after two of three servers died")


def in_line(name):
    with zkwire.Client(cluster[1].address) as zk:
        zk.sync()
        return len(zk.children(f"/{name}")) if zk.exists(f"/{name}") else 0


@case
def dead_and_hung_servers_in_the_url_are_skipped(t):
    all_up()
    leader = cluster.leader()
    hung, alive = [number for number in (1, 2, 3) if number != leader][0], leader
    dead = zookeeper.sandbox.reserve_port()
    nobody = f"127.0.0.1:{dead.getsockname()[1]}"
    servers = ",".join([cluster[hung].address, nobody, cluster[alive].address])
    cluster[hung].freeze()
    try:
        took = []
        for _ in range(6):  # servers are tried in random order
            before = now()
            holder = Holder(t, "hold", f"zk://{servers}?session=12s", random_name())
            took.append(holder.until_says("held")[0] - before)
            t.equal(holder.release(), "0", "release")
    finally:
        cluster[hung].thaw()
        dead.close()
    cluster.wait()
    t.true(max(took) < 8, f"one server that hangs costs {max(took):.1f} s")
    print(f"# {min(took):.3f} to {max(took):.3f} s")


@case
def session_moves_to_another_server(t):
    """Each server dies once and comes back, whichever the clients are connected to."""
    all_up()
    where, name = url(cluster, LONG), random_name()
    holder = Holder(t, "hold", where, name)
    _, token = holder.until_says("held")
    waiter = Holder(t, "hold", where, name)
    t.until("there is a waiter", lambda: in_line(name) == 2)
    for number in (1, 2, 3):
        cluster[number].kill()
        until_serving(t, where)
        all_up()
    t.true(holder.is_kept(), "the holder lost it")
    t.equal(in_line(name), 2, "places in line")
    # The holder is notified of the ASK, the waiter of its grant.
    t.equal(t.run("ask", "--url", where, name).code, 0, "exit code of ask")
    holder.until_says("asked")
    t.equal(waiter.said("held"), [], "grants while it is held")
    t.equal(holder.release(), "0", "release")
    _, next_token = waiter.until_says("held")
    t.true(next_token > token, "the token rises")
    # A broken place is lost at once: its watch moved to the new connection, too.
    done = t.run("break", "--url", where, "--yes", "--token", str(next_token), name)
    t.equal(done.code, 0, "exit code of break")
    lost, deadline, _ = waiter.until_says("lost")
    t.true(lost < deadline - 1, "it waited for the deadline")


if __name__ == "__main__":
    with store("zk"), zookeeper.ensemble(
            3, tick=200, sync_limit=5, config={"maxSessionTimeout": 60000}) as cluster:
        hf.main()
