#!/usr/bin/env -S python3 -B
"""measure.py - bench/measure.py works: figures, JSON and a chart, of SQLite, in a moment; and so
do the peers and floors of Redis that wait in a line, and all of MariaDB.

    test/bench/measure.py BUILD

Nothing here depends on how fast it is.  Skipped if the programs of bench/ are not built.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / name) for name in ("bench", "test/server", "test/interop")]
SCENARIOS = ["S1", "S2:4", "S3:2", "S4:10", "S5:2", "S8:10"]
LIMIT = 60
import cores  # noqa: E402
import peer  # noqa: E402
import redis  # noqa: E402
import server_process  # noqa: E402
import sides  # noqa: E402
import stores  # noqa: E402
from scenarios import Scenario  # noqa: E402


def check(true, text):
    if not true:
        sys.exit(f"measure.py: {text}")


def run(build, *args):
    return subprocess.run([ROOT / "bench/measure.py", "-b", build, "--quick", *map(str, args)],
                          text=True, capture_output=True, timeout=LIMIT, check=False)


def it_measures(build, folder):
    done = run(build, "-s", "sqlite", "-r", 2, "-t", 0.02, "--pin", "--json", folder / "run.json",
               "--chart", folder / "run.svg", *SCENARIOS)
    check(done.returncode == 0, f"ended with {done.returncode}: {done.stderr}")
    found = json.loads((folder / "run.json").read_text())
    rows = {(row["scenario"], row["side"]): row for row in found["results"]}
    for scenario in SCENARIOS:
        check(rows[scenario, "Holdfast"]["rate"] > 0, f"no rate of {scenario}")
        check(scenario in done.stdout, f"{scenario} is not in the table")
        check(rows.get((scenario, "flock(2)"), {}).get("rate", 0) > 0, f"no flock(2) in {scenario}")
    for scenario in ("S1", "S2:4"):
        one = rows[scenario, "two writes"]
        low, high = one["times_quartiles"]
        check(0 < low <= one["times"] <= high, f"the ratio {one} is not between its quartiles")
    check(found["pinned"] and found["file_systems"]["sqlite, disk"] not in ("", "tmpfs"),
          "it does not say how it was measured")
    check(found["failed"] == [], f"failed: {found['failed']}")
    picture = xml.etree.ElementTree.parse(folder / "run.svg").getroot()
    check(picture.tag.endswith("svg"), "no picture")
    again = subprocess.run([ROOT / "tools/pictures/chart.py", folder / "run.json", folder / "again.svg"],
                           check=False)
    check(again.returncode == 0 and (folder / "again.svg").read_text() ==
          (folder / "run.svg").read_text(), "the chart is not that of the JSON")


def two_holders_are_noticed(build, folder):
    """Two whose lock is not the same one, with what they share."""
    both = []
    for name in ("a", "b"):
        (folder / name).mkdir()
        both.append(subprocess.Popen(
            [build / "bench/floors/sqlite_floor", folder / name, folder / "shared", "flock"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    for one in both:
        one.stdin.write("S3:1@1 0.3\n")
        one.stdin.flush()
    said = [one.communicate(timeout=LIMIT)[1] for one in both]
    check(any("exclusion failed" in text for text in said), f"nobody noticed: {said}")
    check(any(one.returncode == 1 for one in both), "and it is no failure")


def it_refuses_nonsense(build):
    done = run(build, "S0")
    check(done.returncode == 2 and "no scenario S0" in done.stderr, "a scenario that is none")


def a_page_is_made(build, folder):
    """Of several runs one document, whose tables have figures."""
    names = [folder / "page.json", folder / "page.svg"]
    done = subprocess.run([ROOT / "bench/page.py", "-b", build, "--quick", "-s", "sqlite", "--json",
                           names[0], "--chart", names[1], "near", "memory"], text=True,
                          capture_output=True, timeout=LIMIT, check=False)
    check(done.returncode == 0, f"the page ended with {done.returncode}: {done.stderr}")
    found = json.loads(names[0].read_text())
    check({row["data"] for row in found["results"]} == {"memory", "disk"}, "a part is missing")
    check(len(found["file_systems"]) == 2, f"file systems: {found['file_systems']}")
    check(re.search(r"\| a free lock, times two bare writes of SQLite \| [\d.]+ \|", done.stdout),
          done.stdout)
    check("### Data on a disk" in done.stdout and "### Redis" not in done.stdout, done.stdout)
    check(names[1].read_text().startswith("<svg"), "no picture of the page")


def cores_are_apart():
    """What is started inherits the place of who starts it; and only meanwhile."""
    def seen():
        done = subprocess.run(["nproc"], capture_output=True, text=True, check=True,
                              env={"PATH": os.environ["PATH"]})
        return int(done.stdout), os.sched_getaffinity(0)

    before, pinned, loose = seen(), cores.Cores(True), cores.Cores(False)
    with pinned.of("servers"):
        server = seen()
    with pinned.of("clients"):
        client = seen()
        with pinned.of("all"):
            check(seen() == before, "all is not all")
    with loose.of("clients"):
        check(seen() == before, "pinned without being asked")
    check(server[0] == client[0] == 1, f"not on one core: {server}, {client}")
    check(before[0] == 1 or server[1] != client[1], "server and client share a core")
    check(seen() == before, "the place is kept")


def memory_is_no_disk():
    kept, peer.DISK = peer.DISK, "/dev/shm"
    if peer.file_system(peer.DISK) == "tmpfs":
        try:
            peer.disk()
        except peer.Failed:
            pass
        else:
            check(False, "memory passes for a disk")
    peer.DISK = kept


def lines_of_redis(build):
    """Of floors and peers there, while others would wait until the server grants."""
    try:
        server = redis.standalone()
    except redis.Missing as missing:
        print(f"# {missing}")
        return
    with server:
        ring = sides.floor(argparse.Namespace(build=build, older=None), "redis_floor", server.address, "ring",
                           "ring", {"S3"})
        both = [(ring, ["S3:3", "S3:2@1"])]
        if subprocess.run([sides.DEBIAN, "-c", "import redis"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0:
            both.append((sides.Side("redis-py", [sides.DEBIAN, "-B", ROOT / "bench/peers/turns.py",
                                                 "redis-py", server.address], sides.ALL,
                                    processes=2), ["S2:2", "S3:2", "S4:5", "S8:5"]))
        for side, texts in both:
            with side:
                for text in texts:
                    marks = [lambda: None] * 2 if text.startswith("S8") else []
                    figures = side.play(Scenario(text), 3 if marks else 0.05, marks)
                    check(figures["operations"] > 0, f"{side.name} does nothing in {text}")


def sides_of_mariadb(build):
    """All of them, each in what it can."""
    with contextlib.ExitStack() as stack:
        try:
            store = stores.Maria(stack, "memory")
        except server_process.Missing as missing:
            print(f"# {missing}")
            return
        for side in sides.of_mariadb(store, None, argparse.Namespace(build=build, older=None)):
            with side:
                for scenario in map(Scenario, ("S1", "S2:2", "S3:2@1", "S4:5", "S8:5", "S9:2")):
                    marks = [lambda: None] * 2 if scenario.kind == "S8" else []
                    if side.can(scenario):
                        figures = side.play(scenario, 3 if marks else 0.05, marks)
                        check(figures["operations"] > 0, f"{side.name} does nothing in {scenario.kind}")


def echo(listener):
    """Sends back all of it, then closes: a client may have closed its half before."""
    with listener, listener.accept()[0] as link:
        said = bytearray()
        while data := link.recv(65536):
            said += data
        link.sendall(said)


def a_relay_delays(build):
    """Also what is more than fits into a socket, and after one half is closed."""
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=echo, args=[listener], daemon=True)
    thread.start()
    relay = subprocess.Popen([f"{build}/bench/relay/delay", str(listener.getsockname()[1]), "50000"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    text = bytes(range(256)) * 40000
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", int(relay.stdout.readline()))) as link:
        link.settimeout(LIMIT)
        link.sendall(text)
        link.shutdown(socket.SHUT_WR)
        heard = bytearray()
        while data := link.recv(65536):
            heard += data
    took = time.monotonic() - start
    thread.join()
    check(heard == text, f"{len(heard)} bytes came back of {len(text)}")
    check(took >= 0.1, f"twice 50 ms took {took} s")
    said, _ = relay.communicate("?\n", timeout=LIMIT)
    trips, segments, size = map(int, said.splitlines()[0].split())
    check((trips, size) == (1, 2 * len(text)) and segments > 2, f"it counted {said!r}")
    check(relay.returncode == 0, "the relay failed")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if not (build / "bench/peers/holdfast").exists():
        print("# SKIP bench is not built")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        it_measures(build, pathlib.Path(folder))
        two_holders_are_noticed(build, pathlib.Path(folder))
        a_page_is_made(build, pathlib.Path(folder))
    it_refuses_nonsense(build)
    a_relay_delays(build)
    cores_are_apart()
    memory_is_no_disk()
    lines_of_redis(build)
    sides_of_mariadb(build)
    return 0


sys.exit(main())
