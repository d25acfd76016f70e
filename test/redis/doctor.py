#!/usr/bin/env -S python3 -B
"""doctor - the findings of `holdfast doctor` about Redis servers."""
import contextlib
import json
import re
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import redis  # noqa: E402

HOUR = 3600 * 10**6  # microseconds
server = None  # without persistence
limited = None  # with a user that has few rights
cluster = None  # of one server


def at(where, rest="?ttl=5s", user=""):
    return f"redis://{user}{where.address}{rest}"


def settle(t, url):
    """The first client that locks on a server that has just started waits for the grace period."""
    t.equal(t.run("run", "-w", "60", "--url", url, "settling", "--", "true").code, 0)
    t.until("the grace period is over", lambda: findings(t, url)["grace period"]["level"] == "ok")


# ---- The server and the connection-----------------------------------------------------------


@case
def findings_of_a_plain_server(t):
    url = at(server, "/3?ttl=1s&prefix=one")
    settle(t, url)
    found = findings(t, url)
    t.equal(levels(found), {"persistence": "warn"})
    is_like(t, found, "server", rf"{server.address}, Redis \d+\.\d+\.\d+, by TCP")
    is_like(t, found, "round trip", r".* in \d+\.\d ms")
    t.equal(found["session"]["text"], "1 s: how long a dead holder blocks others")
    is_like(t, found, "deadline", r".* ours for another (0\.\d|1\.0) s, .*")
    is_like(t, found, "clock", r"the server's is 0\.\d\d\d s .*")
    is_like(t, found, "tokens", r"above \d{16}")
    t.equal(found["keys"]["text"], "{one}:... in database 3")
    is_like(t, found, "lines", r"\d+ sessions, ours included; 0 hold, 0 wait")
    t.contains(found["replicas"]["text"], "none")
    t.contains(found["grace period"]["text"], "lasts 1 s")
    t.true("line" not in found and "failover" not in found, "of what there is not")


@case
def unix_socket_tls_and_password(t):
    found = findings(t, f"redis+unix:{server.path}?ttl=1s")
    is_like(t, found, "server", rf"{server.path}, Redis [\d.]+, by a Unix socket")
    t.equal((found["identity"]["text"], found["encryption"]["level"]),
            ("none: no password is needed", "ok"))
    with redis.standalone(tls=True, requirepass="kept-to-ourselves") as other:
        url = f"rediss://:kept-to-ourselves@localhost:{other.tls_port}?ttl=1s&ca={other.ca}"
        found = findings(t, url)
        t.contains(found["server"]["text"], "by TLS")
        t.contains(found["encryption"]["text"], "verified")
        t.equal(found["identity"]["text"], "user default, by password")
        t.lacks(json.dumps(found), "kept-to-ourselves")


# ---- Something between client and server -----------------------------------------------------


@case
def valkey_is_named_as_such(t):
    def change(_back, data):
        return data.replace(b"redis_git_sha1:00000000", b"valkey_version:8.0.1\r\nx")

    with between(server.port, change) as address:
        found = findings(t, f"redis://{address}?ttl=5s")
    t.contains(found["server"]["text"], "Valkey 8.0.1, by TCP")


@case
def a_wrong_clock_is_a_warning(t):
    def change(_back, data):  # the time in diagnose.lua's answer
        return re.sub(rb"(:0\r\n:0\r\n\$16\r\n)(\d{16})(\r\n:0\r\n)",
                      lambda m: m[1] + b"%d" % (int(m[2]) - HOUR - 5_000_000) + m[3], data)

    with between(server.port, change) as address:
        found = t.until("an answer came in one piece", lambda: (
            found := findings(t, f"redis://{address}?ttl=5s"))["clock"]["level"] == "warn" and found)
    tells(t, found, "warn", "clock", "the server's is 360", "keep both clocks right")
    t.contains(found["clock"]["text"], "s behind ours")
    tells(t, found, "warn", "tokens", "ahead of the server's clock", "tokens would fall back")


@case
def a_connection_breaks_between_the_answers(t):
    asked = []

    def change(_back, data):
        if b"persistence" in data and not data.startswith(b"$"):
            asked.append(data)
            return None
        return data

    with between(server.port, change) as address:
        found = findings(t, f"redis://{address}?ttl=5s", "-w", "0.5", code=69)
    t.equal(levels(found).get("link"), "fault")
    t.true(asked, "nothing was asked")


# ---- Persistence -------------------------------------------------------------------------------


@case
def persistence(t):
    t.contains(findings(t, at(server))["persistence"]["text"], "a restart loses everything")
    with redis.standalone(aof=True) as other, other.client() as link:
        found = findings(t, at(other))
        t.equal(levels(found), {"grace period": "warn"})
        t.contains(found["persistence"]["text"], "synced at every write: nothing is lost")
        link.call("CONFIG", "SET", "appendfsync", "everysec")
        t.contains(findings(t, at(other))["persistence"]["text"], "synced every second: if")
        link.call("CONFIG", "SET", "appendfsync", "no")
        t.contains(findings(t, at(other))["persistence"]["text"], "when the kernel decides: if")
        link.call("CONFIG", "SET", "appendonly", "no")
        link.call("CONFIG", "SET", "save", "3600 1")
        found = findings(t, at(other))
        t.equal(found["persistence"]["level"], "ok")
        t.contains(found["persistence"]["text"], "no append-only file; snapshots")
        t.contains(found["restart"]["text"], "for 5 s nobody else is granted")


@case
def a_server_that_cannot_save(t):
    with redis.standalone(options=["stop-writes-on-bgsave-error no", "dbfilename no.rdb"]) as other:
        (other.folder / "no.rdb").mkdir()
        with other.client() as link:
            link.call("BGSAVE")
            redis.until("it failed", lambda: link.info("persistence")["rdb_last_bgsave_status"] == "err")
        tells(t, findings(t, at(other)), "warn", "saving", "the last attempt failed", "disk full")


@case
def evicting(t):
    with redis.standalone(options=["maxmemory 50mb", "maxmemory-policy allkeys-lru"]) as other:
        done = t.run("list", "--url", at(other))
        t.one_line(done.err)
        t.contains(done.err, "?evicting=yes takes the risk")
        url = at(other, "?ttl=5s&evicting=yes")
        tells(t, findings(t, url), "warn", "eviction", "all locks may be evicted", "noeviction")
        with other.client() as link:
            link.call("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
            tells(t, findings(t, url), "warn", "eviction", "claims may be evicted", "noeviction")
            link.call("CONFIG", "SET", "maxmemory-policy", "noeviction")
            t.equal(findings(t, url)["eviction"]["level"], "ok")
            link.call("SETRANGE", "much", 20 * 10**6, "x")
            used = int(link.info("memory")["used_memory"])
            link.call("CONFIG", "SET", "maxmemory", used + 10**6)
        tells(t, findings(t, url), "warn", "eviction", "nobody gets a lock", "raise maxmemory")


# ---- Others --------------------------------------------------------------------------------------


@case
def replicas(t):
    with redis.pair(sentinels=1) as two, two.master.client() as link:
        redis.until("it is online", lambda: "state=online" in link.info("replication").get("slave0", ""))
        found = findings(t, f"redis+sentinel://{two.sentinel_address}/{redis.SERVICE}?ttl=5s")
        t.contains(found["server"]["text"], two.master.address)
        tells(t, found, "warn", "sentinel", "1 Sentinel in the URL", "name all of them")
        is_like(t, found, "replicas", r"1, 1 online; the slowest was last seen \d+ s ago")
        tells(t, found, "warn", "failover", "may be lost", "?replicas=1")
        t.equal(found["partition"]["level"], "ok")

        found = findings(t, at(two.master, "?ttl=5s"))
        tells(t, found, "warn", "partition", "two may hold the same lock", "min-replicas-to-write 1")
        found = findings(t, at(two.master, "?ttl=5s&replicas=1"))
        t.equal((found["failover"]["level"], found["partition"]["level"]), ("ok", "warn"))
        found = findings(t, at(two.master, "?ttl=5s&replicas=2"), code=78)
        t.equal(found["replicas"]["level"], "fault")
        t.contains(found["replicas"]["text"], "1 online, but the URL wants 2")

        link.call("CONFIG", "SET", "min-replicas-to-write", 1)
        found = findings(t, at(two.master))
        t.equal((found["failover"]["level"], found["partition"]["level"]), ("warn", "ok"))
        t.contains(findings(t, at(two.replica), code=69)["link"]["text"], "read-only replica")


@case
def different_ttls(t):
    """Only clients that lock count; doctor names the one with the longest ttl."""
    t.env["HOLDFAST_URL"] = at(server, "?ttl=9s&prefix=ttl")
    settle(t, t.env["HOLDFAST_URL"])
    t.equal(levels(findings(t, t.env["HOLDFAST_URL"])).get("session"), None)
    url = at(server, "?ttl=5s&prefix=ttl")
    t.equal(levels(findings(t, url)).get("session"), None, "a client that looked")
    holder = t.hold("job")
    found = findings(t, url)
    tells(t, found, "warn", "session", "5 s: how long", "the same ttl")
    t.contains(found["restart"]["text"], "for 9 s nobody else")
    is_like(t, found, "grace period", r".* it lasts 9 s: the ttl of .*command=.*")
    t.end(holder)
    t.equal(levels(findings(t, url)).get("session"), None, "a client that is gone")


@case
def lost_data(t):
    url = at(server, "?ttl=2s&prefix=lost")
    settle(t, url)
    t.env["HOLDFAST_URL"] = url
    holder = t.hold("job")
    with server.client() as link:
        link.call("FLUSHALL")
    found = findings(t, url, "job")
    tells(t, found, "warn", "grace period", "data were lost", "wait")
    t.lacks(found["versions"]["text"], "unknown")
    is_like(t, found, "grace period", r".*(another [12]\.\d s|first client that does waits 2(\.\d+)? s).*")
    t.until("the holder is there again",
            lambda: findings(t, url, "job")["line"]["text"] == '1 hold "job", 0 wait')
    t.equal(findings(t, url)["grace period"]["level"], "warn", "the holder came too late")
    settle(t, url)
    found = findings(t, url, "job")
    t.equal(found["line"]["text"], '1 hold "job", 0 wait')
    t.contains(found["lines"]["text"], "; 1 hold, 0 wait")
    t.equal(t.end(holder).code, 128 + 15, "the holder's status")


@case
def a_claim_of_another_program(t):
    with server.client() as link:
        link.call("SET", "{holdfast}:claim:theirs", "me", "NX", "PX", 60000)
        found = findings(t, at(server), "theirs")
        is_like(t, found, "claim", r"another program's, .* ends in (59|60)\.\d s at the earliest")
        link.call("PERSIST", "{holdfast}:claim:theirs")
        is_like(t, findings(t, at(server), "theirs"), "claim", "another program's, .* never expires")
        link.call("DEL", "{holdfast}:claim:theirs")
    t.true("claim" not in findings(t, at(server), "theirs"), "a claim that is gone")


@case
def a_user_with_few_rights(t):
    rights = "on >kept ~{holdfast}:* &{holdfast}:* +@all -config"
    with redis.standalone(aof=True, acl=[f"ana {rights}",
                                         f"ben {rights} -info +info|server +info|memory +info|replication"]) as other:
        found = findings(t, at(other, user="ana:kept@"))
        t.equal(found["identity"]["text"], "user ana, by password")
        t.contains(found["persistence"]["text"], "this user may not read how often")
        found = findings(t, at(other, user="ben:kept@"))
        tells(t, found, "warn", "persistence", "may not read whether", "INFO persistence")
        t.equal(levels(found), {"persistence": "warn", "grace period": "warn"})


def least_rights():
    told = re.search(r"^ +user (locks on .*?)^```", (ROOT / "docs/redis.md").read_text(), re.S | re.M)
    return " ".join(told[1].split()).replace("PASSWORD", "kept")


@case
def the_documented_rights_are_enough(t):
    t.env["HOLDFAST_URL"] = url = at(limited, "?ttl=4s", user="locks:kept@")
    settle(t, url)
    for kind in ([], ["-s"], ["--slots", "2"]):
        t.equal(t.run("run", *kind, f"a{len(kind)}", "--", "true").code, 0, f"run {kind}")
    holder, claim = t.hold("job"), t.hold("claim", "--claim", script="trap 'exit 0' TERM; sleep 1000")
    waiter = t.start("run", "job", "--", "true")
    t.waiting("job", 1)
    t.equal([lock["name"] for lock in t.list()], ["claim", "job"])
    t.equal(t.run("ask", "job").code, 0, "ask")
    t.equal(t.run("break", "-y", "job").code, 0, "break")
    t.equal(t.finish(holder).code, 79, "the holder's status")
    t.equal(t.finish(waiter).code, 0, "the next one's status")
    t.end(claim)


@case
def a_cluster(t):
    with cluster.client() as link:
        t.until("it is whole", lambda: "cluster_state:ok" in link.call("CLUSTER", "INFO"))
    t.contains(findings(t, at(cluster))["cluster"]["text"], "{holdfast} are in one slot")


@contextlib.contextmanager
def servers():
    global server, limited, cluster
    with sandbox.reserve_port() as bus, contextlib.ExitStack() as stack:
        port = f"cluster-port {bus.getsockname()[1]}"
        server = stack.enter_context(redis.standalone())
        limited = stack.enter_context(redis.standalone(acl=[least_rights()]))
        cluster = stack.enter_context(redis.standalone(options=["cluster-enabled yes", port]))
        with cluster.client() as link:
            link.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)  # it takes two seconds
        yield


if __name__ == "__main__":
    with store("redis"), servers():
        hf.main()
