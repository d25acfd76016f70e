#!/usr/bin/env -S python3 -B
"""audit_test.py BUILD - audit.py finds nothing in a store that is as it should be, and all that is forged there."""
import concurrent.futures
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import audit  # noqa: E402
import servers  # noqa: E402
import zkwire  # noqa: E402

HOLDFAST = pathlib.Path(sys.argv[1]).resolve() / "holdfast"
STATE = "{holdfast}:state"


def redis(store):
    with store.server.client() as link:
        words = link.call("HGETALL", STATE)
        fields = dict(zip(words[::2], words[1::2]))
        session = next(key for key in fields if key.startswith("s\n"))
        yield "totals", lambda: link.call("HSET", STATE, "l\nslots", fields["l\nslots"].replace("3 2 ", "3 1 "))
        yield "wrong slots", lambda: link.call("ZADD", "{holdfast}:order", 0, "fslots\n0000000005")
        yield "without its session", lambda: link.call("HDEL", STATE, session)


def postgres(store):
    yield "totals", lambda: store.server.sql("UPDATE holdfast.line SET used = used - 1")
    yield "without its session", lambda: store.server.sql("DELETE FROM holdfast.session")


def mariadb(store):
    yield "totals", lambda: store.server.sql("UPDATE hf_line SET used = used - 1")
    yield "without its session", lambda: store.server.sql("DELETE FROM hf_session")
    yield "has no line", lambda: store.server.sql("DELETE FROM hf_line")


def zookeeper(store):
    with zkwire.Client(store.addresses[0]) as zk:
        yield "whose place is gone", lambda: zk.create("/slots/slot-1", b"7e57ab1e-0000-0000-0000-000000000000")


def play(name, forge, folder):
    store = servers.STORES[name](random.Random(1), folder)
    try:
        url = store.url(store.addresses)
        subprocess.run([HOLDFAST, "run", "-q", "--url", url, "slots", "true"], check=True)  # makes the schema
        assert not list(audit.audit(store, HOLDFAST)), "before"
        holder = subprocess.Popen([HOLDFAST, "run", "--slots", "3", "--weight", "2", "--url", url,
                                   "slots", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        holder.stdout.readline()
        assert not list(store.left(empty=False)), "with a holder"
        assert list(store.left(empty=True)), "a holder is not seen"
        for word, act in forge(store):
            act()
            looks = audit.Looks(store)
            assert not list(looks.look()), "at once"
            found = list(looks.look())
            assert not list(looks.look()), "again"
            assert any(word in text for text in found), f"{word} is not in {found}"
        holder.communicate()
    finally:
        store.stop()


def case(forge):
    """What follows "ok" or "not ok", and whether it is ok."""
    with tempfile.TemporaryDirectory(prefix="hf-audit-") as folder:
        pathlib.Path(folder).chmod(0o755)
        try:
            play(forge.__name__, forge, pathlib.Path(folder))
            return forge.__name__, True
        except servers.Missing as why:
            return f"{forge.__name__} # SKIP {why}", True
        except AssertionError as error:
            return f"{forge.__name__}\n# {error}", False


def main():
    cases = (redis, postgres, mariadb, zookeeper)
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:  # they wait for servers
        results = list(pool.map(case, cases))
    for number, (text, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {text}")
    print(f"1..{len(cases)}")
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())
