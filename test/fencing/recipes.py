#!/usr/bin/env -S /usr/bin/python3 -B
"""recipes.py BUILD - the recipes of docs/fencing.md, as they stand there, against real servers.

Those in C and sh, and the Python programs that need no server, are run by test/readme/run.
"""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
sys.path.insert(0, str(ROOT / "test/server"))
import postgres  # noqa: E402
import redis  # noqa: E402
import resp  # noqa: E402
import server_process  # noqa: E402
import zookeeper  # noqa: E402

HOLDFAST = str(BUILD / "holdfast")
PAGE = (ROOT / "docs/fencing.md").read_text()
LIMIT = 60


def blocks(language, title):
    """The blocks of that language below a heading."""
    part = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M)[1]
    return re.findall(rf"^```{language}\n(.*?)^```", part, re.S | re.M)


def run(argv, folder, url=None, code=0, **more):
    env = dict(os.environ, PATH=f"{BUILD}:{os.environ['PATH']}", **({"HOLDFAST_URL": url} if url else {}))
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT,
                          check=False, **more)
    assert done.returncode == code, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


# ---- SQL ---------------------------------------------------------------------------------


def begin(link, token):
    """The manual's transaction, up to where the work begins."""
    for statement in blocks("sql", "SQLite")[1].partition("-- read")[0].split(";")[:-1]:
        link.execute(statement, {"token": token})


def refusal(function, *args, error=Exception):
    try:
        function(*args)
    except error as refused:
        return str(refused)
    raise AssertionError(f"{args} was let through")


def sqlite(folder):
    path = folder / "bank.db"
    old, new = (sqlite3.connect(path, timeout=0, isolation_level=None) for _ in range(2))
    for _ in range(2):  # it may be repeated
        old.executescript(blocks("sql", "SQLite")[0])
    old.execute("CREATE TABLE account AS SELECT 100 AS balance")
    for token in (7, 7, 9, 1763240000123456):
        begin(new, token)
        new.execute("UPDATE account SET balance = balance + 1")
        new.execute("COMMIT")
    assert "stale token" in refusal(begin, old, 9, error=sqlite3.IntegrityError)
    old.execute("ROLLBACK")
    begin(old, 1763240000123456)
    assert "locked" in refusal(begin, new, 1763240000123457, error=sqlite3.OperationalError)
    old.execute("ROLLBACK")
    assert old.execute("SELECT balance FROM account").fetchall() == [(104,)]
    assert old.execute("SELECT * FROM fence").fetchall() == [("nightly", 1763240000123456)]
    old.close(), new.close()


def sqlite_by_its_command(folder):
    if not shutil.which("sqlite3"):
        return "no sqlite3 here"
    run(["sqlite3", "bank.db", "CREATE TABLE account AS SELECT 100 AS balance"], folder)
    run(["sqlite3", "bank.db", blocks("sql", "SQLite")[0]], folder)
    job = blocks("sql", "SQLite")[1].replace("-- read and write here", "UPDATE account SET balance = balance + 1;")
    (folder / "job.sql").write_text(job)
    url, script = f"sqlite:{folder}/locks.db", blocks("sh", "SQLite")[0]
    for _ in range(2):
        run(["sh", "-c", script], folder, url)
    run(["sqlite3", "bank.db", "UPDATE fence SET token = token + 1000000000000"], folder)
    run(["sh", "-c", script], folder, url, code=1)
    assert run(["sqlite3", "bank.db", "SELECT balance FROM account"], folder) == "102\n"
    return None


def other_sql(folder):
    """By the number of rows: in SQLite, and in PostgreSQL as any database has it."""
    make, claim = blocks("sql", "Other SQL databases")
    link = sqlite3.connect(folder / "any.db", isolation_level=None)
    link.executescript(make)
    rows = [link.execute(claim, {"token": token}).rowcount for token in (7, 7, 9, 8, 9)]
    assert rows == [1, 1, 1, 0, 1], rows
    link.close()
    with postgres.standalone() as server:
        url = server.admin_url()
        run(["psql", "-v", "ON_ERROR_STOP=1", url], folder, input=make)
        told = [run(["psql", "-v", "ON_ERROR_STOP=1", "-v", f"token={token}", url], folder, input=claim)
                for token in (7, 7, 9, 8, 9)]
        assert told == [f"UPDATE {rows}\n" for rows in (1, 1, 1, 0, 1)], told
    return None


# ---- Redis -------------------------------------------------------------------------------


def redis_script(folder):
    script, = blocks("lua", "Redis")
    (folder / "fence.lua").write_text(script)
    with redis.standalone() as server, server.client() as link:
        def call(token, *value):
            return link.call("EVAL", script, 2, "{d}:mark", "{d}", token, *value)

        assert call(9) is None
        assert call(9, "by 9") == "by 9"
        for token in (10, 10, 9007199254740992, 9007199254740993, 2**64 - 1):
            assert call(token, token) == str(token), token
        for token in (1, 9, 9007199254740993, 2**64 - 2):
            assert "STALE" in refusal(call, token, "late", error=resp.Error), token
        assert link.call("GET", "{d}") == str(2**64 - 1)
        if not shutil.which("redis-cli"):
            return "no redis-cli here"
        port = server.address.rpartition(":")[2]
        shell = blocks("sh", "Redis")[0].replace("redis-cli -e", f"redis-cli -p {port} -e")
        for _ in range(2):
            run(["sh", "-c", shell], folder, f"redis://{server.address}/1")
        assert link.call("GET", "{report}") == " and more and more"
        link.call("SET", "{report}:mark", "9" * 19)
        run(["sh", "-c", shell], folder, f"redis://{server.address}/1", code=79)
        assert link.call("GET", "{report}") == " and more and more"
    return None


# ---- ZooKeeper ---------------------------------------------------------------------------


def zookeeper_multi(folder):
    try:
        from kazoo.client import KazooClient
    except ImportError:
        return "no kazoo here"
    program, = blocks("python", "ZooKeeper")
    (folder / "write.py").write_text(program)
    with zookeeper.standalone() as cluster:
        url = f"zk://{cluster.address}"
        zk = KazooClient(cluster.address)
        zk.start()
        try:
            zk.create("/report", b"old")
            write = [sys.executable, "-B", "write.py", cluster.address]
            run([HOLDFAST, "run", "report-lock", "--", *write], folder, url)
            assert zk.get("/report")[0] == b"old and more"
            run([HOLDFAST, "run", "report-lock", "--", "sh", "-c", f"holdfast break --yes report-lock; trap '' TERM; "
                 + " ".join(write)], folder, url, code=79)
            stopped_before_it_writes(folder, url, zk, program)
        finally:
            zk.stop()
            zk.close()
    return None


def stopped_before_it_writes(folder, url, zk, program):
    """A holder has found its place, then it is broken: nothing is written."""
    names = {}
    exec(program.partition("\nzk = ")[0], names)
    holder = subprocess.Popen([HOLDFAST, "hold", "--url", url, "stolen", "--status-fd", "1"], cwd=folder,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    events = iter(lambda: json.loads(holder.stdout.readline()), None)
    token = next(int(event["token"]) for event in events if event.get("event") == "held")
    place = names["place_of"](zk, "/stolen", token)
    assert names["write"](zk, place, "/report", b"by the holder")
    run([HOLDFAST, "break", "--yes", "stolen"], folder, url)
    assert not names["write"](zk, place, "/report", b"late")
    assert zk.get("/report")[0] == b"by the holder"
    holder.stdin.close()
    holder.wait(LIMIT)
    holder.stdout.close()


# ---- All of them -------------------------------------------------------------------------


def main():
    cases = [sqlite, sqlite_by_its_command, other_sql, redis_script, zookeeper_multi]
    failed = 0
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        with tempfile.TemporaryDirectory(prefix="fencing.") as folder:
            name, why = case.__name__.replace("_", " "), None
            try:
                why = case(pathlib.Path(folder))
            except server_process.Missing as missing:
                why = str(missing)
            except (AssertionError, subprocess.TimeoutExpired):
                failed += 1
                print("\n".join(f"# {line}" for line in traceback.format_exc().splitlines()))
                print(f"not ok {number} - {name}", flush=True)
                continue
            print(f"ok {number} - {name}{f' # SKIP {why}' if why else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
