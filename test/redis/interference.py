#!/usr/bin/env -S python3 -B
"""interference - others change, fill, redirect or break a Redis server while locks are held and
waited for: seen through the command."""
import contextlib
import socket
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


# ---- Names and layouts -----------------------------------------------------------------


@case
def a_lock_named_ast_leaves_the_token_counter_alone(t):
    """The field `last` is the token counter: l + ast."""
    settle(t, at(prefix="ast"))
    tokens = []
    for name in ("job", "ast", "job", "tl", "un", "job"):
        done = t.run("run", "-w", "9", name, "--", "sh", "-c", "echo $HOLDFAST_TOKEN")
        t.equal((done.code, done.err), (0, ""), name)
        tokens.append(int(done.out))
    t.equal(tokens, sorted(set(tokens)), "tokens")


@case
def a_newer_layout_is_refused_by_every_verb(t):
    """Every verb says so, and no data change."""
    settle(t, at(prefix="later"))
    with server.client() as link:
        link.call("HSET", "{later}:state", "layout", "99")
        before = link.call("DUMP", "{later}:state"), link.call("DUMP", "{later}:order")
        for args in (["run", "-w", "9", "a", "--", "true"], ["list"], ["try", "a", "--", "true"]):
            done = t.run(*args)
            t.equal((done.code, done.out), (64, ""), done.err)
            t.contains(done.err, "is used by a newer version of Holdfast (layout 99, ours is 3)")
        t.equal((link.call("DUMP", "{later}:state"), link.call("DUMP", "{later}:order")), before)


# ---- A grace period ------------------------------------------------------------------------


@case
def the_grace_period_is_shown_to_waiters(t):
    with redis.standalone() as young:
        t.env["HOLDFAST_URL"] = at(young, ttl="4s")
        waiter = t.start("run", "-w", "30", "a", "--", "echo", "mine")
        t.waiting("a", 1)
        shown = t.run("list").out
        t.lacks(shown, "?@?")
        t.contains(shown, "nobody: this Redis started ")
        done = t.finish(waiter)
        t.equal((done.code, done.out), (0, "mine\n"), done.err)
        t.contains(done.err, 'waiting for "a", held by nobody: this Redis started ')
        t.contains(done.err, " s ago; if it lost locks, their holders stop within 4 s: first grant in ")


# ---- Forged messages -------------------------------------------------------------------


@contextlib.contextmanager
def stranger():
    """A user that may only publish."""
    with server.client() as link:
        link.call("ACL", "SETUSER", "pub", "on", ">x", "resetkeys", "allchannels", "-@all",
                  "+publish", "+subscribe", "+pubsub|channels")
        try:
            with server.client(user="pub", password="x") as mine:
                yield mine
        finally:
            link.call("ACL", "DELUSER", "pub")


def server_keys(hash):
    with server.client() as link:
        return link.call("HKEYS", hash)


@case
def a_forged_message_keeps_nobody_from_reclaiming(t):
    """It says that a place was taken away; but it would have to name the place."""
    settle(t, at(prefix="guess"))
    holder = t.hold("job")
    (token,) = holders(t, "job")
    with stranger() as link, server.client() as admin:
        t.until("it listens", lambda: link.call("PUBSUB", "CHANNELS", "{guess}:wake:*"))
        (channel,) = link.call("PUBSUB", "CHANNELS", "{guess}:wake:*")
        admin.call("FLUSHALL")
        for id in range(100):
            link.call("PUBLISH", channel, f"1 b {id}")
        t.until("it is put down again, or lost",
                lambda: holders(t, "job") == [token] or holder.poll() is not None)
    t.equal((holder.poll(), holders(t, "job")), (None, [token]), "it was lost")
    t.end(holder)


@case
def forged_messages_neither_grant_nor_break(t):
    settle(t, at(prefix="forged"))
    holder = t.hold("job")
    begun = t.path("begun")
    waiter = t.start("run", "-w", "30", "job", "--", "touch", str(begun))
    t.waiting("job", 1)
    (token,) = holders(t, "job")
    with stranger() as link:
        t.until("both listen", lambda: len(link.call("PUBSUB", "CHANNELS", "{forged}:wake:*")) == 2)
        owners = [key[2:] for key in server_keys("{forged}:state") if key.startswith("t\n")]
        t.equal(len(owners), 2, "places")
        for text in ("g ID -1 5", "g ID -1 5 0", f"g ID -1 5 {'f' * 16}", "b ID", "a ID", "c job"):
            for sid, id in (owner.split(":") for owner in owners):  # ids that only our keys tell
                link.call("PUBLISH", "{forged}:wake:" + sid, f"1 {text.replace('ID', id)}")
            for _ in range(20):
                t.true(not begun.exists(), f"the waiter believed {text}")
                t.equal((holder.poll(), waiter.poll()), (None, None), f"they believed {text}")
                time.sleep(0.01)
        for channel in link.call("PUBSUB", "CHANNELS", "{forged}:wake:*"):
            link.call("PUBLISH", channel, "1000000 c job")  # as if so many had been sent
    t.equal(t.run("check", "--token", str(token), "job").code, 0, "the holder still has it")
    t.equal(holders(t, "job"), [token])
    t.end(holder)
    t.equal((t.finish(waiter).code, begun.exists()), (0, True), "the waiter's turn")


# ---- Faults of one connection ------------------------------------------------------------


@case
def the_message_connection_is_cut_while_the_server_is_busy(t):
    """The message connection is made again while a long script runs."""
    with redis.standalone(options=["busy-reply-threshold 20"]) as busy:
        settle(t, at(busy, ttl="6s"))
        holder = t.hold("job")
        waiter = t.start("run", "-w", "30", "job", "--", "echo", "mine")
        t.waiting("job", 1)
        with busy.client() as link:
            for kind in ("pubsub", "pubsub"):
                link.call("CLIENT", "KILL", "TYPE", kind)
                link.call("EVAL", "local t = redis.call('TIME')[1] + 0 "
                                  "while redis.call('TIME')[1] - t < 2 do end return 1", 0)
        t.equal((waiter.poll(), holder.poll()), (None, None), "both go on")
        t.end(holder)
        done = t.finish(waiter)
        t.equal((done.code, done.out), (0, "mine\n"), done.err)


@case
def the_message_connection_fails_at_maxclients(t):
    """At maxclients the message connection cannot be made again; the other one works."""
    with redis.standalone() as narrow:
        settle(t, at(narrow, ttl="2s"))
        holder = t.hold("job")
        with narrow.client() as link, contextlib.ExitStack() as stack:
            t.until("it listens", lambda: link.call("PUBSUB", "CHANNELS", "*"))
            link.call("CONFIG", "SET", "maxclients", 3)  # two of the holder's, and this one
            link.call("CLIENT", "KILL", "TYPE", "pubsub")
            stack.enter_context(socket.create_connection(("127.0.0.1", narrow.port)))
            t.until("it was refused", lambda: int(link.info("stats")["rejected_connections"]) > 5)
            t.equal(holder.poll(), None, "the holder goes on")
            t.true(len(link.call("ZRANGEBYLEX", "{holdfast}:order", "[hjob", "(hjoc")) == 1, "held")
            link.call("CONFIG", "SET", "maxclients", 100)
            t.until("it listens again", lambda: link.call("PUBSUB", "CHANNELS", "*"))
        t.end(holder)


# ---- A server that was a replica meanwhile -------------------------------------------------


@case
def a_master_comes_back_with_older_data(t):
    """A grants, while B has been promoted already; A follows B, and is promoted again: its run
    id is the same, but its last grants are gone."""
    with redis.pair() as both:
        url = at(both.master)
        settle(t, url)
        with both.replica.client() as link:
            t.until("it has our keys", lambda: link.call("HLEN", "{holdfast}:state"))
        both.promote()
        holder = t.hold("job")
        (token,) = holders(t, "job")
        both.follow(both.replica, both.master)
        with both.master.client() as link:
            link.call("REPLICAOF", "NO", "ONE")
            t.equal(link.call("ZLEXCOUNT", "{holdfast}:order", "[hjob", "(hjoc"), 0)
        done = t.run("run", "-w", "3", "job", "--", "true")  # longer than the grace period
        t.equal(done.code, 75, f"somebody else got it: {done.err}")
        t.equal((holder.poll(), holders(t, "job")), (None, [token]), "it was put down again")
        t.end(holder)


# ---- A full server ---------------------------------------------------------------------------


@case
def a_full_server_loses_no_lock(t):
    with redis.standalone() as full:
        settle(t, at(full, ttl="2s"))
        holder = t.hold("job")
        (token,) = holders(t, "job")
        with full.client() as link:
            link.call("CONFIG", "SET", "maxmemory", 1)
            link.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            before = link.call("HGET", "{holdfast}:state", "epoch")
            end = lambda: link.call("ZRANGEBYLEX", "{holdfast}:order", "[e", "(f")  # noqa: E731
            for _ in range(3):  # renewals on the new connection
                was = end()
                t.until("it is renewed", lambda: end() != was)
            done = t.run("run", "-w", "9", "other", "--", "true")
            t.equal(done.code, 69, done.err)
            t.contains(done.err, "no memory left")
            t.equal((holder.poll(), link.call("HGET", "{holdfast}:state", "epoch")), (None, before))
            link.call("CONFIG", "SET", "maxmemory", 0)
        t.equal(holders(t, "job"), [token])
        t.end(holder)


# ---- Scripts that are flushed ------------------------------------------------------------------


@case
def scripts_are_flushed_long_before_the_data(t):
    """Live clients load the canary again."""
    settle(t, at(ttl="2s", prefix="canary"))
    holder = t.hold("job")
    with server.client() as link:
        link.call("SCRIPT", "FLUSH")
        calls = lambda: int(link.info("commandstats")["cmdstat_script|load"].split(",")[0][6:])  # noqa: E731
        before = calls()
        t.until("it renews", lambda: calls() > before + 1)  # the renewal's own, and the canary
        link.call("FLUSHALL")
        done = t.run("try", "job", "--", "true")
        t.equal((done.code, holder.poll()), (75, None), done.err)
    t.until("it is put down again", lambda: len(holders(t, "job")) == 1)
    t.end(holder)


@case
def a_waiter_keeps_its_start_time_after_lost_data(t):
    """Although the data are lost, and clients reclaim their places."""
    settle(t, at(prefix="since"))
    holder = t.hold("job")
    waiter = t.start("run", "-q", "job", "--", "true")
    t.waiting("job", 1)

    def waiters():
        return [(one["token"], one["since"]) for one in
                json.loads(t.run("show", "--json", "job").out)["waiters"]]
    before = waiters()
    with server.client() as link:
        link.call("FLUSHALL")
    t.until("they are put down again", lambda: len(holders(t, "job")) == 1 == len(waiters()))
    t.equal(waiters(), before)
    t.end(holder)
    t.equal(t.finish(waiter).code, 0)


# ---- Claims beside other programs ----------------------------------------------------------------


@case
def a_claim_is_granted_between_claims_of_other_programs(t):
    """Another program releases its claim long before the expiry, and sends no message."""
    settle(t, at(prefix="claims"))
    with server.client() as link:
        link.call("SET", "{claims}:claim:job", "theirs", "NX", "PX", 600000)
        waiter = t.start("run", "--claim", "-w", "30", "job", "--", "echo", "mine")
        t.until("it has asked", lambda: len(link.call("ZRANGEBYLEX", "{claims}:order", "[w", "(x")) > 0)
        link.call("DEL", "{claims}:claim:job")
        done = t.finish(waiter)
        t.equal((done.code, done.out), (0, "mine\n"), done.err)
        t.true(done.seconds < 20, f"it took {done.seconds:.1f} s")


@case
def no_other_kind_is_granted_beside_a_claim_of_another_program(t):
    settle(t, at(prefix="kinds"))
    kinds = ["-x"], ["-s"], ["--slots", "3"], ["--slots", "3", "--weight", "2"], []
    with server.client() as link:
        for kind in kinds:
            link.call("SET", "{kinds}:claim:job", "theirs", "NX", "PX", 600000)
            for wait in (["-n"], ["-w", "9"]):
                done = t.run("run", *wait, *kind, "job", "--", "echo", "mine")
                t.equal((done.code, done.out), (64, ""), (kind, done.err))
                t.contains(done.err, "is in use as a claim")
            link.call("DEL", "{kinds}:claim:job")
            done = t.run("run", "-n", *kind, "job", "--", "echo", "mine")
            t.equal((done.code, done.out), (0, "mine\n"), (kind, done.err))


@case
def a_command_whose_claim_was_taken_is_no_success(t):
    """It ends before the next heartbeat, so the release is the first to find out."""
    settle(t, at(ttl="60s", prefix="taken"))
    key = "{taken}:claim:job"
    with server.client() as link:
        for commands in ([("SET", key, "theirs", "PX", 60000)], [("DEL", key)], [("PEXPIRE", key, -1)],
                         [("DEL", key), ("SET", key, "theirs", "NX", "PX", 60000)]):
            end = t.path("end")
            holder = t.hold("job", "--claim", script=f"until [ -e {end} ]; do sleep .01; done")
            for command in commands:
                link.call(*command)
            kept = link.call("GET", key)
            end.touch()
            done = t.finish(holder)
            t.equal(done.code, 79, f"{commands}: {done.err}")
            t.contains(done.err, "lost")
            t.equal((link.call("GET", key), holders(t, "job")), (kept, []), commands)
            link.call("DEL", key)
            end.unlink()


# ---- A server that misbehaves -----------------------------------------------------------------------


def liar(change):
    """A proxy in front of a good server; change() edits each piece from the server."""
    return between(server.port, lambda back, data: change(data) if back else data)


@case
def a_list_answer_with_a_nameless_claim(t):
    """{ 0, last, foreign, grace } though the request had no name."""
    settle(t, at(prefix="liar"))

    def change(data):
        return data.replace(b"\r\n:0\r\n:0\r\n", b"\r\n:7\r\n:0\r\n") if data.startswith(b"*4\r\n:0\r\n$16") else data
    with liar(change) as where:
        done = t.run("list", "--url", f"redis://{where}?ttl=2s&prefix=liar")
        t.equal((done.code, done.err), (0, ""), done.out)


@case
def a_place_without_its_field_is_shown_as_unreadable(t):
    """Somebody has deleted its field."""
    settle(t, at(ttl="20s", prefix="lost"))
    holder = t.hold("a")
    with server.client() as link:
        state, = link.call("KEYS", "*lost*:state")
        fields = [field for field in link.call("HKEYS", state) if field.startswith("t\n")]
        kept = [(field, link.call("HGET", state, field)) for field in fields]
        for field, _ in kept:
            link.call("HDEL", state, field)
        seen = t.list()
        for field, text in kept:
            link.call("HSET", state, field, text)
    t.equal([entry["kind"] for lock in seen for entry in lock["holders"]], ["unknown"], "holders")
    t.end(holder)


@case
def an_answer_that_announces_a_billion_parts(t):
    def change(data, lie):
        """A script's answer: an array, or a token alone."""
        return lie(data) if data.startswith((b"*", b"$16\r")) else data
    for lie in (lambda _: b"*1000000000\r\n", lambda data: b"*1\r\n*1\r\n" + data):
        with liar(lambda data, lie=lie: change(data, lie)) as where:
            done = t.run("run", "-w", "1", "a", "--url", f"redis://{where}?ttl=2s", "--", "true")
            t.equal(done.code, 69, done.err)
            t.true(done.seconds < 10, f"it took {done.seconds:.1f} s")


@case
def an_answer_with_times_of_a_thousand_years(t):
    settle(t, at(prefix="years"))

    def change(data):
        head, *rest = data.split(b"\r\n")
        if head not in (b"*6", b"*5", b"*11"):
            return data
        return b"\r\n".join([head, *(b":9223372036854775807" if part[:1] == b":" and i else part
                                     for i, part in enumerate(rest))])
    with liar(change) as where:
        done = t.run("run", "-w", "1", "a", "--url", f"redis://{where}?ttl=2s&prefix=years", "--", "true")
        t.true(done.code in (0, 69, 75), f"{done.code}: {done.err}")


if __name__ == "__main__":
    with store("redis"), redis.standalone() as server:
        hf.main()
