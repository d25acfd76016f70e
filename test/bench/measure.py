#!/usr/bin/env -S python3 -B
"""measure.py - bench/measure.py works: figures, JSON and a chart, of SQLite, in a moment.

    test/bench/measure.py BUILD

Nothing here depends on how fast it is.  Skipped if the programs of bench/ are not built.
"""
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIOS = ["S1", "S3:2", "S4:10", "S5:2", "S8:10"]
LIMIT = 60


def check(true, text):
    if not true:
        sys.exit(f"measure.py: {text}")


def run(build, *args):
    return subprocess.run([ROOT / "bench/measure.py", "-b", build, "--quick", *map(str, args)],
                          text=True, capture_output=True, timeout=LIMIT, check=False)


def it_measures(build, folder):
    done = run(build, "-s", "sqlite", "-r", 1, "-t", 0.02, "--json", folder / "run.json",
               "--chart", folder / "run.svg", *SCENARIOS)
    check(done.returncode == 0, f"ended with {done.returncode}: {done.stderr}")
    found = json.loads((folder / "run.json").read_text())
    rows = {(row["scenario"], row["side"]): row for row in found["results"]}
    for scenario in SCENARIOS:
        check(rows[scenario, "Holdfast"]["rate"] > 0, f"no rate of {scenario}")
        check(scenario in done.stdout, f"{scenario} is not in the table")
    check(rows["S1", "two writes"]["times"] > 0, "there is no ratio")
    check(found["failed"] == [], f"failed: {found['failed']}")
    picture = xml.etree.ElementTree.parse(folder / "run.svg").getroot()
    check(picture.tag.endswith("svg"), "no picture")
    again = subprocess.run([ROOT / "pictures/chart.py", folder / "run.json", folder / "again.svg"],
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
    it_refuses_nonsense(build)
    a_relay_delays(build)
    return 0


sys.exit(main())
