#!/usr/bin/env -S python3 -B
"""doctor.py - what doctor finds about MariaDB servers, about dangers to locks there, and which are refused."""
import contextlib
import json
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import mariadb  # noqa: E402


server = None
secure = None  # with TLS, and without what makes writes safe


@contextlib.contextmanager
def set_for_all(name, value):
    before = mariadb.shown(server.sql(f"SELECT @@GLOBAL.{name}")[0][0])
    server.sql(f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        server.sql(f"SET GLOBAL {name} = {before}")


# ---- The server and the connection ------------------------------------------------------------


@case
def a_healthy_server_has_no_warnings(t):
    found = findings(t, server.url + "?ttl=1s")
    t.equal(levels(found), {})
    is_like(t, found, "server", rf"127\.0\.0\.1:{server.port}, MariaDB 1\d\.\d+\.\d+, by TCP")
    is_like(t, found, "round trip", r".* in \d+\.\d ms")
    is_like(t, found, "identity", r"user tester@.*; database test, whose functions have the rights of holdfast@localhost")
    t.contains(found["encryption"]["text"], "this host")
    t.equal(found["session"]["text"], "1 s: how long others wait for a dead holder")
    is_like(t, found, "deadline", r".* surely ours for (0\.\d|1\.0) s, .*")
    is_like(t, found, "clock", r"the server's is \d+\.\d\d\d s (ahead of|behind) ours; .*")
    is_like(t, found, "tokens", r"above \d+")
    is_like(t, found, "connections", r"\d+ of 40 are in use")
    t.contains(found["messages"]["text"], "at once")
    t.equal(found["disk"]["text"], "grants and renewals are on disk before they count")
    t.contains(found["replicas"]["text"], "none")
    is_like(t, found, "tables", r"hf_\.\.\., version \d+")
    t.equal(found["integrity"]["text"], "ok")
    is_like(t, found, "lines", r"1 sessions, ours included; 0 hold, 0 wait, \d+ queues are empty")
    t.true("line" not in found, "a finding that does not apply")
    t.lacks(json.dumps(found), mariadb.PASSWORD)


@case
def a_name_adds_a_finding_about_its_line(t):
    t.env["HOLDFAST_URL"] = server.url + "?ttl=5s"
    holder, other = t.hold("job"), t.hold("other")
    waiter = t.start("run", "job", "--", "true")
    t.waiting("job", 1)
    found = findings(t, server.url, "job")
    t.equal(levels(found), {})
    t.equal(found["line"]["text"], '1 hold "job", 1 wait')
    is_like(t, found, "lines", r"4 sessions, ours included; 2 hold, 1 wait, \d+ queues are empty")
    t.end(holder)
    t.equal(t.finish(waiter).code, 0, "the waiter's status")
    t.end(other)


@case
def unix_sockets_tls_and_polling_are_named(t):
    found = findings(t, f"mariadb://{mariadb.ADMIN}@/test?socket={server.socket}")
    is_like(t, found, "server", rf"{server.socket}, MariaDB [\d.]+, by a Unix socket")
    found = findings(t, f"{secure.url}?ca={secure.tls['ca']}")
    t.contains(found["server"]["text"], "by TLS")
    t.equal(found["encryption"]["text"], "TLS; the server's certificate is verified")
    t.equal(findings(t, server.url + "?polling=yes")["messages"]["text"], "by polling: polling=yes in the URL")


# ---- What can be lost ----------------------------------------------------------------------------


@case
def grants_that_are_not_flushed_are_a_warning(t):
    with set_for_all("innodb_flush_log_at_trx_commit", 2):
        tells(t, findings(t, server.url), "warn", "disk", "innodb_flush_log_at_trx_commit is 2: if the server",
              "innodb_flush_log_at_trx_commit = 1")
    with set_for_all("sync_binlog", 0):
        tells(t, findings(t, server.url), "warn", "disk", "sync_binlog is 0: if its machine fails", "sync_binlog = 1")
    tells(t, findings(t, secure.url), "warn", "disk", "innodb_doublewrite is off", "innodb_doublewrite = ON")
    t.equal(levels(findings(t, server.url)), {})


@case
def running_out_of_connections_is_a_warning(t):
    with contextlib.ExitStack() as stack:
        for _ in range(37):
            stack.enter_context(server.connect())
        tells(t, findings(t, server.url), "warn", "connections", "of 40 are in use; when all are", "max_connections")
    t.until("the warning is gone", lambda: levels(findings(t, server.url)) == {})


@case
def a_table_of_another_engine_is_a_fault(t):
    server.sql("ALTER TABLE hf_fence ENGINE = MyISAM")
    tells(t, findings(t, server.url, code=78), "fault", "tables", "1 of them are not InnoDB's", "ENGINE = InnoDB")
    server.sql("ALTER TABLE hf_fence ENGINE = InnoDB")
    t.equal(levels(findings(t, server.url)), {})


@case
def totals_that_were_changed_by_hand_are_a_fault(t):
    t.env["HOLDFAST_URL"] = server.url
    holder = t.hold("wrong")
    server.sql("UPDATE hf_line SET waiting = waiting + 1 WHERE name = 'wrong'")
    tells(t, findings(t, server.url, code=78), "fault", "integrity", "the totals of 1 queues do not match", "CALL hf_recount()")
    server.sql("CALL hf_recount()")
    t.equal(levels(findings(t, server.url)), {})
    t.end(holder)


# ---- Other servers -------------------------------------------------------------------------------


@case
def a_replica_is_a_warning_and_is_refused_itself(t):
    """Of several hosts the one that accepts writes is used, whichever comes first."""
    with mariadb.standalone(settings={"server-id": "2"}) as replica:
        file, position = (mariadb.shown(value) for value in server.sql("SHOW MASTER STATUS")[0][:2])
        replica.sql(f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {server.port}, MASTER_USER = "
                    f"'{mariadb.ADMIN}', MASTER_PASSWORD = '{mariadb.ADMIN_PASSWORD}', "
                    f"MASTER_LOG_FILE = '{file}', MASTER_LOG_POS = {position}; START SLAVE")
        t.until("it is connected",
                lambda: server.sql("SHOW GLOBAL STATUS LIKE 'Slaves_connected'") == [("Slaves_connected", "1")])
        tells(t, findings(t, server.url), "warn", "replicas", "1, asynchronous: after a failover", "tokens")
        replica.sql("SET GLOBAL read_only = 1")
        out_of_reach(t, replica.url, f"{replica.address} is read-only: a replica?")
        for first, second in ((replica, server), (server, replica)):
            works(t, server.url.replace(server.address, f"{first.address},{second.address}"))


@case
def a_galera_cluster_is_refused(t):
    with mariadb.standalone(settings={"wsrep-on": "ON"}) as other:  # as its servers have it; it has no others
        why = f"{other.address} is part of a Galera cluster (wsrep_on): two of its servers may commit changes"
        unusable(t, other.url, why, code=64)
        t.contains(findings(t, other.url, code=69)["link"]["text"], why)


@case
def a_binary_log_of_statements_is_refused(t):
    with mariadb.standalone(settings={"log-bin": "log", "server-id": "3", "binlog-format": "STATEMENT"}) as other:
        unusable(t, other.url, "has binlog_format=STATEMENT, with which nothing can be written")


@contextlib.contextmanager
def servers():
    global server, secure
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(mariadb.standalone(settings={
            "max-connections": "40", "log-bin": "log", "sync-binlog": "1", "server-id": "1"}))
        secure = stack.enter_context(mariadb.standalone(tls="want", settings={"innodb-doublewrite": "OFF"}))
        subprocess.run([hf.HOLDFAST, "init", "--url", server.admin_url()], check=True, stdout=subprocess.DEVNULL)
        yield


if __name__ == "__main__":
    with store("mariadb"), servers():
        hf.main()
