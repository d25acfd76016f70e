#!/usr/bin/python3 -B
"""turns.py - the scenarios with kazoo's or redis-py's locks; see bench/scene.h.

    turns.py kazoo|redis-py ADDRESS FILE|first

One process, one session: S1, S3 and S6.  By Debian's Python, which has both.
"""
import mmap
import random
import struct
import sys
import time

COUNT, RELEASED, WRITERS, TAKEN, TOOK = 0, 8, 20, 24, 32  # offsets of struct shared
MOST = 200000
LEASE = 30


class Kazoo:
    def __init__(self, address):
        from kazoo.client import KazooClient
        self.client = KazooClient(hosts=address, timeout=30)
        self.client.start()

    def lock(self, name):
        return self.client.Lock(f"/kazoo-{name}", "bench")

    def close(self):
        self.client.stop()


class RedisPy:
    def __init__(self, address):
        import redis
        host, _, port = address.rpartition(":")
        self.client = redis.Redis(host=host, port=int(port)) if host else \
            redis.Redis(unix_socket_path=address)

    def lock(self, name):
        return self.client.lock(f"redis-py-{name}", timeout=LEASE)

    def close(self):
        self.client.close()


class Shared:
    """What all processes of one side have in common."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)

    def get(self, form, at):
        return struct.unpack_from(form, self.map, at)[0]

    def set(self, form, at, value):
        struct.pack_into(form, self.map, at, value)

    def took(self, us):
        """Only who has the lock may, or who is alone."""
        at = self.get("Q", TAKEN)
        if at < MOST:
            self.set("d", TOOK + 8 * at, us)
            self.set("Q", TAKEN, at + 1)


def now_us():
    return time.monotonic() * 1e6


def take_turn(lock, shared, contended, hold):
    since = now_us()
    lock.acquire()
    if contended:
        now, released, count = now_us(), shared.get("d", RELEASED), shared.get("Q", COUNT)
        if shared.get("i", WRITERS) != 0:
            sys.exit("turns.py: exclusion failed")
        shared.set("i", WRITERS, 1)
        if released > since:
            shared.took(now - released)
        if hold > 0:
            time.sleep(hold)
        shared.set("Q", COUNT, count + 1)
        shared.set("i", WRITERS, 0)
        shared.set("d", RELEASED, now_us())
    lock.release()
    if not contended:
        shared.took(now_us() - since)


def play(client, shared, scenario, seconds):
    """How many turns."""
    kind, _, rest = scenario.partition(":")
    contended, hold = kind == "S3", float(rest.partition("@")[2] or 0) / 1000
    lock = client.lock("S3" if contended else f"S1-{random.getrandbits(32):x}")
    end, count = time.monotonic() + seconds, 0
    while count == 0 or time.monotonic() < end:
        take_turn(lock, shared, contended, hold)
        count += 1
    return count


def main():
    client = {"kazoo": Kazoo, "redis-py": RedisPy}[sys.argv[1]](sys.argv[2])
    if sys.argv[3] == "first":
        with client.lock("S6"):
            print(f"held {now_us():.0f}", flush=True)
        return client.close()
    shared = Shared(sys.argv[3])
    for line in sys.stdin:
        scenario, seconds = line.split()
        start = time.monotonic()
        count = play(client, shared, scenario, float(seconds))
        print(scenario, count, f"{time.monotonic() - start:.6f}", count, flush=True)
    return client.close()


main()
