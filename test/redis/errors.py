#!/usr/bin/env -S python3 -B
"""errors - problems of a reachable Redis server: each is reported in one clear line, in time, without
passwords; and exactly which rights a user needs.  (test/fault has unreachable servers.)"""
import concurrent.futures
import contextlib
import re
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import redis  # noqa: E402
import resp  # noqa: E402

server = None  # with a password


def admin(rest="?ttl=1s"):
    return f"redis://:{SECRET}@{server.address}{rest}"


# ---- Servers ---------------------------------------------------------------------------


@case
def nobody_listens(t):
    """As for every store, in ways that this one alone has; see test/fault/unreachable_server.py."""
    with nobody() as where:
        out_of_reach(t, f"rediss://{where}", f"{where} cannot be reached: connection refused")
        out_of_reach(t, f"redis+sentinel://{where}/x", f"Sentinel at {where} cannot be reached")
    missing = t.path("no.sock")
    out_of_reach(t, f"redis+unix:{missing}", f"{missing} cannot be reached: ")


@case
def a_replica(t):
    with redis.pair() as both:
        unusable(t, f"redis://{both.replica.address}", "is a read-only replica: name its master "
                 f"({both.master.address})")
        with both.replica.client() as link:
            link.call("CONFIG", "SET", "replica-read-only", "no")
        unusable(t, f"redis://{both.replica.address}", "is a read-only replica")


@case
def sentinels(t):
    with redis.pair(sentinels=1) as both:
        where = both.sentinel_address
        unusable(t, f"redis+sentinel://{where}/other", 'knows no service "other"')
        unusable(t, f"redis://{where}", "is a Sentinel: write redis+sentinel:", code=64)
        out_of_reach(t, f"redis+sentinel://{both.master.address}/{redis.SERVICE}", "is not a Sentinel")
        works(t, f"redis+sentinel://{where}/{redis.SERVICE}?ttl=1s")
        with both.sentinels[0].client() as link, both.master.client() as master:
            link.call("ACL", "SETUSER", "default", "resetpass", f">{SECRET}")  # the Sentinels' own
            theirs = f"redis+sentinel://:{SECRET}@{where}/{redis.SERVICE}?ttl=1s"
            holder = t.hold("x", "--url", theirs)
            redis.until("news stays subscribed", lambda: re.search(
                r" name= age=[1-9]", master.call("CLIENT", "LIST", "TYPE", "pubsub")))
            t.end(holder)


@case
def memory(t):
    with redis.standalone(options=["maxmemory 20mb", "maxmemory-policy allkeys-lru"]) as small:
        url = f"redis://{small.address}?ttl=1s"
        unusable(t, url, "may evict locks (maxmemory-policy allkeys-lru): set noeviction there", code=64)
        works(t, f"{url}&evicting=yes")
        with small.client() as link:
            link.call("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "1")
            unusable(t, url, "has no memory left (maxmemory)")
            link.call("CONFIG", "SET", "maxmemory", "0")
            link.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")  # no maxmemory, so nothing is evicted
        works(t, url)


@case
def databases(t):
    unusable(t, admin("/99?ttl=1s"), "has no database 99", code=64)
    works(t, admin("/3?ttl=1s"))


# ---- Users -----------------------------------------------------------------------------


@case
def passwords(t):
    where = server.address
    unusable(t, f"redis://{where}", "wants a password: set ?auth=FILE")
    for who in (":wrong", f"nobody:{SECRET}", "default:wrong"):
        unusable(t, f"redis://{who}@{where}", "rejects the user or the password")
    works(t, admin())
    with redis.standalone() as open_one:
        unusable(t, f"redis://:{SECRET}@{open_one.address}", "has no password set")


@contextlib.contextmanager
def user(*rules, name="ana"):
    """A Redis user with these rules; yields the start of its URL."""
    with server.client() as link:
        link.call("ACL", "SETUSER", name, "reset", "on", f">{SECRET}", *rules)
        try:
            yield f"redis://{name}:{SECRET}@{server.address}"
        finally:
            link.call("ACL", "DELUSER", name)


# The rights that a user needs, as in docs/redis.md.
KEYS, CHANNELS = "~{holdfast}:*", "&{holdfast}:wake:*"
ASKED = ["info", "script|exists", "script|load", "evalsha", "subscribe"]
INSIDE = ["del", "get", "hdel", "hexists", "hget", "hincrby", "hmget", "hset", "pexpire", "pttl",
          "publish", "set", "time", "zadd", "zlexcount", "zrangebylex", "zrem", "zremrangebylex",
          "zrevrangebylex"]
TRAIL = ["rpush", "ltrim", "lrange", "llen", "zcard", "zrangebyscore", "zremrangebyscore"]


class Exercise:
    """Everything that a client does, until something is refused."""

    def __init__(self, test, url, prefix="holdfast"):
        self.test, self.url = test, f"{url}?ttl=500ms&prefix={prefix}"
        self.admin, self.prefix = admin(f"?ttl=3s&prefix={prefix}"), prefix

    def complaint(self, done, well=(0,)):
        """The last line of an error; `break` prints first which place it means."""
        if done.code in well:
            return None
        last = done.err[done.err.rstrip("\n").rfind("\n") + 1:]
        self.test.one_line(last)
        return last

    def alone(self, *args, seconds=0):
        """Even if the release fails, the exit status is the command's."""
        done = self.test.run("run", "-w", "5", "--url", self.url, *args, "--", "sleep", str(seconds))
        return self.complaint(done) or done.err or None

    def beside(self, verb, *args, kind=()):
        """While another client holds "x"."""
        holder = self.test.hold("x", *kind, "--url", self.admin)
        done = self.test.run(verb, "--url", self.url, *args)
        self.test.end(holder)
        return self.complaint(done, (0, 75))

    def foreign(self):
        """While another program has a claim."""
        with server.client() as link:
            link.call("SET", f"{{{self.prefix}}}:claim:z", "somebody", "PX", 3000)
        return self.complaint(self.test.run("try", "--claim", "z", "--url", self.url, "--", "true"), (75,))

    def watched(self):
        """While another client watches the store."""
        watcher = self.test.start("watch", "w", "--url", self.admin)
        with server.client() as link:
            self.test.until("it is watched", lambda: link.call("HEXISTS", f"{{{self.prefix}}}:state", "w\nw"))
        said = self.alone("w")
        self.test.end(watcher)
        return said

    def before(self):
        """While another client waits."""
        holder = self.test.start("run", "-w", "5", "y", "--url", self.url, "--", "sleep", "0.15")
        self.test.until("it holds", lambda: "y" in self.test.run("list", "--url", self.admin).out
                        or holder.poll() is not None)
        waiter = self.test.start("run", "-w", "5", "y", "--url", self.admin, "--", "true")
        done = self.test.finish(holder)
        self.test.finish(waiter)
        return self.complaint(done) or done.err or None

    def run(self):
        """The error when something was refused; None: nothing was."""
        return (self.alone("a") or self.alone("--slots", "2", "s") or self.alone("-s", "r")
                or self.watched() or self.alone("--claim", "c", seconds=0.2) or self.beside("try", "x", "--", "true")
                or self.beside("try", "--claim", "x", "--", "true", kind=["--claim"])
                or self.foreign()
                or self.beside("list") or self.beside("show", "x") or self.beside("ask", "x")
                or self.beside("break", "x", "--yes") or self.before())


def rules(left_out=None):
    return [f"+{name}" for name in ASKED + INSIDE if name != left_out]


@case
def the_documented_rights_are_enough_for_every_verb(t):
    with user(KEYS, CHANNELS, *rules()) as url, server.client() as link:
        link.call("ACL", "LOG", "RESET")
        link.call("SCRIPT", "FLUSH")
        t.equal(Exercise(t, url).run(), None)
        refusals = [dict(zip(entry[::2], entry[1::2]))["object"] for entry in link.call("ACL", "LOG")]
        t.equal(set(refusals) - {"client|setname"}, set(), "what was refused")


def without(name):
    """The error for a user that lacks only this right, in a namespace of its own."""
    prefix, t = f"no-{name}", hf.Test(name)
    mine = [text.replace("holdfast", prefix) for text in (KEYS, CHANNELS)]
    try:
        with user(*mine, *rules(name), name=name) as url:
            said = Exercise(t, url, prefix).run()
    finally:
        t.close()
    t.true(said is not None, f"nobody misses {name}")
    # A release is retried until its time limit.
    t.true("does not allow" in said or "the store does not answer" in said, f"{name}: {said}")
    return said


@case
def each_documented_right_is_needed(t):
    with server.client() as link:
        for name in ASKED:
            link.call("SCRIPT", "FLUSH")
            t.contains(without(name), f"'{name}'")
    with concurrent.futures.ThreadPoolExecutor(5) as several:
        list(several.map(without, INSIDE))


@case
def other_keys_and_channels(t):
    for keys in ("~{other}:*", "~{holdfast}:state", "~{holdfast}:order"):
        with user(keys, CHANNELS, *rules()) as url:
            unusable(t, url, "does not allow")
    with user(KEYS, "&{other}:wake:*", *rules()) as url:  # noticed by a client that stays a while
        t.contains(Exercise(t, url).run(), "does not allow")


@case
def rights_needed_for_some_options(t):
    with user(KEYS, CHANNELS, *rules()) as url:
        unusable(t, f"{url}/3", "does not allow")
        refused(t, 69, "does not allow", "run", "-w", "9", "a", "--url", f"{url}?replicas=1",
                "--", "true")
    with user(KEYS, CHANNELS, *rules(), "+select") as url:
        works(t, f"{url}/3?ttl=1s")


@case
def rights_needed_to_watch_and_for_history(t):
    prefix, state = "?ttl=1s&prefix=changes", "{changes}:state"
    mine = [text.replace("holdfast", "changes") for text in (KEYS, CHANNELS)]
    with user(*mine, *rules(), *(f"+{name}" for name in TRAIL)) as url, server.client() as link:
        link.call("ACL", "LOG", "RESET")
        eye = t.start("watch", "--url", url + prefix)
        t.until("it watches the store", lambda: "+" in (link.call("HGET", state, "watch_store") or ""))
        works(t, f"{url}{prefix}&history=5")
        for _ in range(40):
            works(t, url + prefix)
        done = t.run("history", "--url", url + prefix)
        t.equal((done.code, done.out.count("granted"), done.out.count("released")), (0, 2, 3), done)
        t.end(eye)
        refusals = [dict(zip(entry[::2], entry[1::2]))["object"] for entry in link.call("ACL", "LOG")]
        t.equal(set(refusals) - {"client|setname"}, set(), "what was refused")
    with user(*mine, *rules()) as url:  # a user without them disturbs nobody
        works(t, url + prefix)
        refused(t, 69, "does not allow", "history", "--url", url + prefix)


# ---- Data that make no sense --------------------------------------------------------------------


@case
def a_place_with_bad_numbers_blocks_and_can_be_broken(t):
    t.env["HOLDFAST_URL"] = admin("?ttl=30s&prefix=strange")
    with resp.Client(server.path, password=SECRET) as link:
        for weight, capacity in (("5", "1"), ("-3", "1"), ("99999999999999999999", "1"), ("1", "0"),
                                 ("x", "1")):
            holder = t.hold("a")
            state, = link.call("KEYS", "*strange*:state")
            fields = link.call("HGETALL", state)
            field, text = next(pair for pair in zip(fields[::2], fields[1::2])
                               if pair[0][:1] == "t" and pair[1][:2] == "g ")
            words = text.split(" ")
            seq, sane = words[1], " ".join(words)
            words[2], words[5] = weight, capacity + words[5].lstrip("0123456789")
            link.call("HSET", state, field, " ".join(words))
            lock, = t.list()
            t.equal([entry["kind"] for entry in lock["holders"]], ["unknown"], (weight, capacity))
            done = t.run("run", "-n", "a", "--", "echo", "in")
            t.equal((done.code, done.out), (75, ""), done.err)  # the server counts it, too
            done = t.run("doctor", "a")
            t.contains(done.out, 'in the queue of "a" makes no sense')
            link.call("HSET", state, field, sane)
            t.equal(t.run("break", "-y", "--token", seq, "a").code, 0)
            t.finish(holder)
    t.env["HOLDFAST_URL"] = f"sqlite:{t.folder}/locks.db"


if __name__ == "__main__":
    with store("redis"), redis.standalone(requirepass=SECRET) as server:
        hf.main()
