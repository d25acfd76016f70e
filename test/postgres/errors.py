#!/usr/bin/env -S python3 -B
"""errors - what can be wrong with a PostgreSQL store: each is one clear line, in time, and
tells no secret.  (What its user must be allowed: see init.py.)"""
import contextlib
import os
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
os.environ.setdefault("HOLDFAST", str(BUILD / "holdfast"))
sys.path[:0] = [str(ROOT / "test/cli"), str(ROOT / "test/server")]
import hf  # noqa: E402
import place  # noqa: E402
import postgres  # noqa: E402
from hf import case  # noqa: E402

MANY = 6.0  # seconds that `-w 0.5` may take on a busy machine
SOON = 6.0  # seconds for what needs no waiting, on a busy machine
SECRET = f"hunter{random.randrange(10**9)}"  # that of no other test
USER = postgres.USER
server = None  # with TLS for who wants it


def where():
    return f"127.0.0.1:{server.port}"


def url(rest="?ttl=2s", database="test", user=f"{USER}:{SECRET}", at=None):
    return f"postgres://{user}@{where() if at is None else at}/{database}{rest}"


def refused(t, code, says, *args, limit=SOON, **more):
    done = t.run(*args, **more)
    t.equal((done.code, done.out), (code, ""), f"{args}: {done.err}")
    t.one_line(done.err)
    t.contains(done.err, says)
    t.lacks(done.err, SECRET)
    t.true(done.seconds < limit, f"{args} took {done.seconds:.1f} s")


def out_of_reach(t, url, says):
    """It may come back, so one waits, and no longer than asked to."""
    refused(t, 69, says, "run", "-w", "0.5", "a", "--url", url, "--", "true", limit=MANY)
    done = t.run("doctor", "-w", "0.5", "--url", url)
    t.equal((done.code, done.err), (69, ""), done.out)
    t.lacks(done.out, SECRET)
    t.true(done.seconds < MANY, f"doctor took {done.seconds:.1f} s")


def unusable(t, url, says, code=69):
    """No use to wait: every verb says why at once."""
    refused(t, code, says, "run", "-w", "9", "a", "--url", url, "--", "true")
    refused(t, code, says, "try", "a", "--url", url, "--", "true")
    refused(t, code, says, "list", "--url", url)


def works(t, url):
    done = t.run("run", "-w", "9", "a", "--url", url, "--", "echo", "hi")
    t.equal((done.code, done.out, done.err), (0, "hi\n", ""), url)


# ---- Servers ---------------------------------------------------------------------------


@contextlib.contextmanager
def peer(talk):
    """A server that is none of PostgreSQL: talk(link) for each connection.  Gives its
    host:port."""
    links = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                links.append(link)
                with contextlib.suppress(OSError):
                    talk(link)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for link in links:
                link.close()


@case
def it_works_when_nothing_is_wrong(t):
    works(t, url())
    works(t, f"postgresql://{USER}:{SECRET}@{where()}/test?ttl=2s")
    works(t, f"postgres:///test?host={server.socket}&port={server.port}&user={USER}&ttl=2s")


@case
def nobody_listens(t):
    with place.reserve_port() as keeper:
        at = f"127.0.0.1:{keeper.getsockname()[1]}"
        out_of_reach(t, url(at=at), f"PostgreSQL at {at}/test cannot be reached: connection refused")
        works(t, url(at=f"{at},{where()}"))  # another one is there
    out_of_reach(t, f"postgres:///test?host=/no/such&user={USER}", "/no/such:5432/test cannot be reached")


@case
def no_such_host(t):
    out_of_reach(t, url(at="no-such-host.invalid"), "no-such-host.invalid:5432/test is not to be found: ")


SILENT = """
import socket, subprocess, sys
silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
silent.bind(("127.0.0.1", 53))
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


@case
def a_name_that_is_looked_up_in_vain(t):
    """Nobody answers to that for long; we wait no longer than asked to."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-mn", "true"]).returncode != 0:
        raise hf.Skip("this needs root, and namespaces")
    t.path("resolv").write_text("nameserver 127.0.0.1\n")
    t.path("service").write_text("[here]\nhost=db.example\n")
    script = f"ip link set lo up && mount --bind {t.path('resolv')} /etc/resolv.conf && exec \"$@\""
    inside = ["unshare", "-mn", "sh", "-c", script, "sh", sys.executable, "-c", SILENT, hf.HOLDFAST]
    for where, env in (("postgres://db.example/test", {}), ("postgres:///test", {"PGHOST": "db.example"}),
                       ("postgres://?service=here", {"PGSERVICEFILE": str(t.path("service"))})):
        begin = time.monotonic()
        done = subprocess.run([*inside, "run", "-w", "1", "a", "--url", where, "--", "true"],
                              env=t.env | env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        seconds = time.monotonic() - begin
        t.equal(done.returncode, 69, f"{where}: {done.stderr}")
        t.contains(done.stderr, "db.example")
        t.true(seconds < 1 + MANY, f"{where} took {seconds:.1f} s")


@case
def another_protocol(t):
    def talk(link):
        link.recv(4096)
        link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with peer(talk) as at:
        refused(t, 69, at, "run", "-w", "0.5", "a", "--url", url(at=at), "--", "true", limit=MANY)


@case
def one_that_says_nothing(t):
    with peer(lambda link: None) as at:
        out_of_reach(t, url(at=at), f"{at}/test does not answer")


@case
def a_server_that_is_stopped(t):
    server.freeze()
    try:
        out_of_reach(t, url(), "does not answer")
    finally:
        server.thaw()
    works(t, url())


@case
def a_server_that_is_down_and_comes_back(t):
    server.end()
    try:
        out_of_reach(t, url(), "cannot be reached: connection refused")
        run = t.start("run", "-w", "20", "a", "--url", url(), "--", "echo", "hi")
    finally:
        server.start()
    done = t.finish(run)
    t.equal((done.code, done.out), (0, "hi\n"), done.err)


@case
def a_standby(t):
    works(t, url())  # the schema is there
    standby = server.standby()
    out_of_reach(t, url(at=f"127.0.0.1:{standby.port}"), "is read-only: a standby?")
    works(t, url(at=f"127.0.0.1:{standby.port},{where()}"))  # the one behind it will do


@contextlib.contextmanager
def with_role(change, undo):
    server.sql(f"ALTER ROLE {USER} {change}")
    try:
        yield
    finally:
        server.sql(f"ALTER ROLE {USER} {undo}")


@case
def a_database_in_another_encoding(t):
    """That it cannot write a command line down is no reason to refuse a lock."""
    server.sql(f"CREATE DATABASE latin OWNER {USER} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' "
               "LC_CTYPE 'C'", "postgres")
    try:
        done = t.run("run", "-w", "9", "a", "--url", url(database="latin"), "--", "echo", "\u65e5\u672c")
        t.equal((done.code, done.out, done.err), (0, "\u65e5\u672c\n", ""))
        refused(t, 69, "is not in UTF-8", "run", "-w", "9", "\u65e5", "--url", url(database="latin"), "--", "true")
    finally:
        server.dropdb("latin")


@case
def what_a_role_may_be_set_to(t):
    with with_role("SET default_transaction_read_only = on", "RESET default_transaction_read_only"):
        out_of_reach(t, url(), "is read-only: a standby?")
    with with_role("CONNECTION LIMIT 0", "CONNECTION LIMIT -1"):
        out_of_reach(t, url(), "has no room for another connection")
    for level in ("serializable", "repeatable read"):
        with with_role(f"SET default_transaction_isolation = '{level}'",
                       "RESET default_transaction_isolation"):
            unusable(t, url(), "has default_transaction_isolation set")
    with with_role("SET lock_timeout = '20s'", "RESET lock_timeout"), \
            with_role("SET search_path = ''", "RESET search_path"), \
            with_role("SET synchronous_commit = off", "RESET synchronous_commit"), \
            with_role("SET client_encoding = 'latin1'", "RESET client_encoding"), \
            with_role("SET DateStyle = 'German'", "RESET DateStyle"):
        works(t, url())


@case
def a_schema_that_is_not_ours(t):
    server.createdb("strange")
    try:
        with server.connect("strange", USER) as link:
            link.run("CREATE SCHEMA holdfast; CREATE TABLE holdfast.line (x int)")
        refused(t, 69, "/strange", "run", "-w", "9", "a", "--url", url(database="strange"),
                "--", "true")
    finally:
        server.dropdb("strange")


# ---- Who we are ------------------------------------------------------------------------


@case
def passwords(t):
    for who in (f"{USER}:wrong", f"nobody:{SECRET}"):
        unusable(t, url(user=who), "says that the password, or the user, is wrong")
    unusable(t, url(user=USER), "wants a password")
    with with_role("NOLOGIN", "LOGIN"):
        unusable(t, url(), "is not permitted to log in")


@case
def databases(t):
    unusable(t, url(database="nowhere"), '/nowhere has no such database: database "nowhere" does not exist')
    server.sql(f"REVOKE CONNECT ON DATABASE test FROM PUBLIC, {USER}")
    try:
        unusable(t, url(), "permission denied for database")
    finally:
        server.sql(f"GRANT CONNECT ON DATABASE test TO PUBLIC, {USER}")


@case
def passwords_elsewhere(t):
    """Where libpq looks for them."""
    file = t.path("pass")
    file.touch(mode=0o600)
    file.write_text(f"127.0.0.1:{server.port}:test:{USER}:{SECRET}\n")
    for env in ({"PGPASSFILE": str(file)}, {"PGPASSWORD": SECRET}):
        done = t.run("run", "-w", "9", "a", "--url", url(user=USER), "--", "true", env=env)
        t.equal((done.code, done.err), (0, ""), env)
    service = t.path("service")
    service.write_text(f"[here]\nhost=127.0.0.1\nport={server.port}\ndbname=test\nuser={USER}\n"
                       f"password={SECRET}\n")
    done = t.run("run", "-w", "9", "a", "--url", "postgres://?service=here", "--", "true",
                 env={"PGSERVICEFILE": str(service)})
    t.equal((done.code, done.err), (0, ""), "service")


# ---- TLS -------------------------------------------------------------------------------


@case
def tls(t):
    ca, other = server.tls["ca"], server.tls["other_ca"]
    works(t, url(f"?ttl=2s&sslmode=verify-full&sslrootcert={ca}"))
    unusable(t, url(f"?sslmode=verify-full&sslrootcert={other}"), "certificate verify failed")
    unusable(t, url("?sslmode=verify-full&sslrootcert=/no/such"), "/no/such")
    with postgres.standalone() as plain:
        unusable(t, url("?sslmode=require", at=f"127.0.0.1:{plain.port}"), "does not support SSL")
    with postgres.standalone(tls="only") as only:
        at = f"127.0.0.1:{only.port}"
        who = f"{USER}:{postgres.PASSWORD}"
        unusable(t, url("?sslmode=disable", user=who, at=at), "no encryption")
        works(t, url("?sslmode=require&ttl=2s", user=who, at=at))


# ---- URLs ------------------------------------------------------------------------------


@case
def bad_urls(t):
    for bad, says in ((f"postgres:{USER}:{SECRET}@{where()}/test", "no // in"),
                      (f"postgres://{USER}:{SECRET}/x@{where()}/test", "in a password %2F"),
                      (url("?bogus=1"), 'has no parameter "bogus"'),
                      (url("?ttl=1x"), "ttl is no time"), (url("?ttl=1ms"), "no ttl can be"),
                      (url("?polling=maybe"), "polling cannot be"),
                      (url("?sslmode=bogus"), "sslmode"), (url(at="127.0.0.1:99999"), "port"),
                      (url(at="127.0.0.1:x"), "port"), (url(at="[::1"), "libpq cannot read")):
        unusable(t, bad, says, code=64)


# ---- Secrets ---------------------------------------------------------------------------


def look_around(t, *args, **more):
    """Everything that somebody else may see of a run: output and processes."""
    seen = t.path("seen")
    script = f"cat /proc/$PPID/cmdline /proc/self/environ >{seen}; ps -eo args >>{seen}"
    done = t.run("run", "-v", *args, "a", "--", "sh", "-c", script, **more)
    t.equal(done.code, 0, done.err)
    text = seen.read_bytes().decode(errors="replace")
    t.contains(text, "HOLDFAST_TOKEN=")
    seen.unlink()
    return done.out + done.err + text


@case
def passwords_are_not_shown(t):
    file = t.path("url")
    file.touch(mode=0o600)
    file.write_text(url() + "\n")
    t.lacks(look_around(t, "--url", url()), SECRET)
    t.lacks(look_around(t, "--url", url(f"?ttl=2s&password={SECRET}", user=USER)), SECRET)
    t.lacks(look_around(t, "--url-file", str(file)), SECRET)
    t.lacks(look_around(t, env={"HOLDFAST_URL": url()}), SECRET)
    with place.reserve_port() as keeper:
        nobody = f"127.0.0.1:{keeper.getsockname()[1]}"
        for bad in (url("?x=1"), url(at=nobody), url(at="[::1"), url(at=f"{nobody}:x"),
                    url(user=f"{USER}:{SECRET}%zz"), url(f"?password={SECRET}&x=1", user=USER),
                    url(f"?password={SECRET}&sslmode=x", user=USER), url(at=""), url(database="x"),
                    f"postgres://{USER}:{SECRET}", f"postgres:{SECRET}@{nobody}",
                    f"postgres://{USER}:{SECRET}/x@{nobody}", f"postgres://{USER}:{SECRET}?x@{nobody}",
                    f"postgres://{USER}:{SECRET}@{USER}@{nobody}/x", f"postgresql://:{SECRET}@/x",
                    f"postgres://{USER}:a%00{SECRET}@{nobody}/x",
                    f"postgres://{USER}:{SECRET}@{nobody}/x?passfile=/no/{SECRET}x"[:-8]):
            for args in (["doctor", "-w", "0.1"], ["run", "-w", "0.1", "a", "true"]):
                done = t.run(*args, env={"HOLDFAST_URL": bad})
                t.lacks(done.out + done.err, SECRET)
                t.true(done.code in (64, 69), f"{bad}: {done.code}")


@case
def a_place_that_makes_no_sense(t):
    """In a database whose tables do not mind: an administrator's, or of an older schema."""
    server.createdb("strange")
    t.env["HOLDFAST_URL"] = url("?ttl=30s", database="strange")
    t.equal(t.run("run", "a", "--", "true").code, 0)
    for table in ("ticket", "line"):
        for name, in server.sql("SELECT conname::text FROM pg_constraint WHERE contype = 'c' AND "
                                f"conrelid = 'holdfast.{table}'::regclass", "strange"):
            server.sql(f"ALTER TABLE holdfast.{table} DROP CONSTRAINT {name}", "strange")
    for weight, capacity in ((0, 1), (5, 1), (-3, 1), (2**40, 1), (1, 0), (1, -1), (7, 2**32 - 1)):
        holder = t.hold("a")
        server.sql(f"UPDATE holdfast.ticket SET weight = {weight} WHERE name = 'a'", "strange")
        server.sql(f"UPDATE holdfast.line SET capacity = {capacity} WHERE name = 'a'", "strange")
        lock, = t.list()
        t.equal([entry["kind"] for entry in lock["holders"]], ["unknown"], (weight, capacity))
        done = t.run("run", "-n", "a", "--", "echo", "in")
        t.true(done.code != 0 and done.out == "", done.err)  # the server keeps count by itself
        t.contains(t.run("doctor", "a").out, 'in the line of "a" makes no sense')
        server.sql("UPDATE holdfast.ticket SET weight = 1 WHERE name = 'a'", "strange")
        server.sql("UPDATE holdfast.line SET capacity = 1 WHERE name = 'a'", "strange")
        t.equal(t.run("break", "-y", "--token", lock["holders"][0]["token"], "a").code, 0)
        t.finish(holder)
    t.env["HOLDFAST_URL"] = f"sqlite:{t.folder}/locks.db"
    server.dropdb("strange")


def missing():
    version = subprocess.run([hf.HOLDFAST, "version"], stdout=subprocess.PIPE, text=True)
    return None if "postgres" in version.stdout.split() else "no PostgreSQL store in this build"


def main():
    global server
    sys.argv[1:] = [arg for arg in sys.argv[1:] if not os.path.isdir(arg)]  # the build folder
    reason = missing()
    try:
        if reason is None:
            with postgres.standalone(tls="want") as server:
                server.sql(f"ALTER ROLE {USER} PASSWORD '{SECRET}'")
                hf.main()
    except postgres.Missing as error:
        reason = error
    print(f"1..0 # SKIP {reason}")
    sys.exit(77)


if __name__ == "__main__":
    main()
