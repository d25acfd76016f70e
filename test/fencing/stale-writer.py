#!/usr/bin/env -S /usr/bin/python3 -B
"""stale-writer.py BUILD - examples/stale-writer.py: a late writer is refused, and is not without a fence."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
sys.path.insert(0, str(ROOT / "test/server"))
import mariadb  # noqa: E402
import postgres  # noqa: E402
import server_process  # noqa: E402
import zookeeper  # noqa: E402

LIMIT = 60


def missing(resource):
    """Why it cannot be shown here, or None."""
    try:
        if resource == "zookeeper":
            zookeeper.class_path()
            import kazoo  # noqa: F401
        if resource == "postgres":
            postgres.check_installed()
        if resource == "mariadb":
            mariadb.check_installed()
    except (server_process.Missing, ImportError) as why:
        return str(why)
    return "no redis-server" if resource == "redis" and not shutil.which("redis-server") else None


def show(resource, *options):
    begin = time.monotonic()
    done = subprocess.run([ROOT / "examples/stale-writer.py", resource, *options], capture_output=True, text=True,
                          timeout=LIMIT, check=False, env=dict(os.environ, HOLDFAST=str(BUILD / "holdfast")))
    print(f"# {resource}: {time.monotonic() - begin:.1f} s", flush=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def fenced(resource):
    out = show(resource)
    tokens = [int(token) for token in re.findall(r"has the lock, with token (\d+)", out)]
    assert len(tokens) == 2 and tokens[0] < tokens[1], out
    order = ["A has the lock", "A is stopped", "B has the lock", "B writes 'by B'\n", "A goes on",
             "A writes 'by A', and is refused", "exits with 79", "at the end there is 'by B'\n"]
    assert re.search(".*".join(map(re.escape, order)), out, re.S), out


def unfenced(resource):
    """Shows that the others would notice."""
    out = show(resource, "--unfenced")
    assert "refused" not in out and "at the end there is 'by A', and the work of B is lost" in out, out


def main():
    cases = [(check, resource) for resource in ("file", "sqlite", "redis", "zookeeper", "postgres", "mariadb")
             for check in (fenced, unfenced)]
    failed = 0
    print(f"1..{len(cases)}")
    for number, (check, resource) in enumerate(cases, 1):
        why = missing(resource)
        try:
            if not why:
                check(resource)
        except (AssertionError, subprocess.TimeoutExpired) as fault:
            failed += 1
            print("\n".join(f"# {line}" for line in str(fault).splitlines()))
            print(f"not ok {number} - {resource} {check.__name__}", flush=True)
            continue
        print(f"ok {number} - {resource} {check.__name__}{f' # SKIP {why}' if why else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
