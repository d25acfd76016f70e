#!/usr/bin/env -S python3 -B
"""zookeeper.py - Holdfast beside Curator on one ZooKeeper server.

    bench/zookeeper.py [-r ROUNDS] [-s SECONDS] [-w WAITERS] [SCENARIO...]

The server keeps its data in memory.  Each side is one process that stays.  They take turns
in each round, and the side that was first is second in the next; medians of the rounds are
shown.

    S1      acquire and release a free lock; both answers are awaited
    S2:n    n threads, n locks, one session
    S3:n    n sessions take turns on one lock, and hold it for no time
    S4      WAITERS of one process queue for one lock, then each has it once
    S5:n    n sessions, one lock, 90 % readers
    S6:n    as S3:n, but Holdfast's sessions are all driven by one thread

With a + behind S1 or S3:n, and in S6, Holdfast does not wait for the answer to its
release.  Curator has neither that nor a loop, and runs S1 or S3.

Requests and bytes are the server's own count, processor time the kernel's; all are
per operation, an acquire and a release, Curator's first.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "test/interop"), str(ROOT / "test/server")]
import curator  # noqa: E402
import zookeeper  # noqa: E402

SCENARIOS = ["S1", "S1+", "S2:16", "S3:2", "S3:16", "S3:16+", "S3:64", "S4", "S5:16", "S6:16"]
TICK = os.sysconf("SC_CLK_TCK")
# The servers of tests are set up to start quickly; this one is to run as shipped.
SERVER_FLAGS = ["-Xmx1g", "-XX:TieredStopAtLevel=4"]


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Peer:
    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)

    def run(self, scenario, size):
        """(operations, seconds)"""
        self.process.stdin.write(f"{scenario} {size}\n")
        said = self.process.stdout.readline().split()
        if len(said) != 3 or said[0] != scenario:
            raise SystemExit(f"zookeeper.py: {self.process.args[0]} failed at {scenario}")
        return int(said[1]), float(said[2])

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def counts(server, peer):
    """What is counted, up to now."""
    said = dict(line.split("\t", 1) for line in server.word("mntr", 10).splitlines()
                if "\t" in line)
    return {"requests": int(said["zk_packets_received"]),
            "bytes": int(said["zk_response_bytes"]),
            "server": cpu_seconds(server.pid) * 1e6,
            "client": cpu_seconds(peer.process.pid) * 1e6}


def measure(server, peer, scenario, size):
    before = counts(server, peer)
    operations, seconds = peer.run(scenario, size)
    after = counts(server, peer)
    figures = {key: (after[key] - before[key]) / operations for key in before}
    return figures | {"rate": operations / seconds}


def warm_up(peers):
    """Let the Java programs translate what runs often."""
    for scenario in ("S1", "S3:16"):
        for peer in peers:
            peer.run(scenario, 2)


def medians(rounds):
    return {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}


def compare(server, peers, scenario, rounds, size):
    """The medians of each peer."""
    names = [scenario.replace("+", "").replace("S6", "S3"), scenario]
    found = [[], []]
    for number in range(rounds + 1):
        for which in ((0, 1) if number % 2 else (1, 0)):
            figures = measure(server, peers[which], names[which], size)
            if number > 0:  # the first opens sessions and folders
                found[which].append(figures)
    return [medians(one) for one in found]


HEAD = ["", "Curator/s", "Holdfast/s", "times", "requests", "bytes out", "server us",
        "client us"]


def row(scenario, theirs, ours):
    def pair(key, digits=0):
        return f"{theirs[key]:.{digits}f} {ours[key]:.{digits}f}"
    return [scenario, f"{theirs['rate']:.0f}", f"{ours['rate']:.0f}",
            f"{ours['rate'] / theirs['rate']:.2f}", pair("requests", 1), pair("bytes"),
            pair("server"), pair("client")]


def show(cells):
    widths = [7, 11, 12, 7, 11, 14, 12, 12]
    print(cells[0].ljust(widths[0]) + "".join(c.rjust(w) for c, w in zip(cells[1:], widths[1:])),
          flush=True)


def main():
    parser = argparse.ArgumentParser(description="Holdfast beside Curator on one ZooKeeper.")
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("-s", "--seconds", type=float, default=2.0, help="of one side's turn")
    parser.add_argument("-w", "--waiters", type=int, default=1000)
    parser.add_argument("-b", "--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("-u", "--url", help="measure this store of Holdfast's instead")
    parser.add_argument("scenario", nargs="*", default=SCENARIOS)
    args = parser.parse_args()

    with zookeeper.standalone(tick=2000, log_level="error", jvm=SERVER_FLAGS) as cluster:
        url = args.url or f"zk://{cluster.address}/?session=30s"
        java = curator.command("bench/peers/Curator.java", args.build, "-Xmx512m", "-Xss512k")
        peers = [Peer([*java, cluster.address]), Peer([f"{args.build}/bench/peers/holdfast", url])]
        try:
            warm_up(peers)
            show(HEAD)
            for scenario in args.scenario:
                size = args.waiters if scenario == "S4" else args.seconds
                show(row(scenario, *compare(cluster[1], peers, scenario, args.rounds, size)))
        finally:
            for peer in peers:
                peer.close()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (zookeeper.Missing, zookeeper.Failed) as error:
        sys.exit(f"zookeeper.py: {error}")
