#!/usr/bin/python3 -B
"""turns.py - the scenarios with kazoo's or redis-py's locks; see bench/scene.h.

    turns.py kazoo|redis-py ADDRESS FILE|first

Answers "SCENARIO OPERATIONS SECONDS LEAST P50 P99".  A process for each session of S3, S5 and S9,
a thread for each waiter in the others.  Runs with Debian's Python, which has both.
"""
import contextlib
import mmap
import os
import random
import resource
import struct
import sys
import threading
import time

COUNT, RELEASED, WRITERS, TAKEN, TOOK = 0, 8, 20, 24, 32  # offsets of struct shared
MOST = 200000
LEASE = 30
READERS = 90  # of a hundred
STALLED = 1.0  # seconds
LONGEST = 3.0  # of S8


class Kazoo:
    """A reader may wait for a writer behind it, which waits for the reader: after this time it gives up
    and tries again."""

    def __init__(self, address):
        from kazoo.client import KazooClient
        from kazoo.exceptions import CancelledError, LockTimeout
        self.stalled, self.canceled = LockTimeout, CancelledError
        self.client = KazooClient(hosts=address, timeout=30)
        self.client.start()

    def lock(self, name, kind="Lock"):
        return getattr(self.client, kind)(f"/kazoo-{name}", "bench")

    def both(self, name):
        return self.lock(name, "ReadLock"), self.lock(name, "WriteLock")

    def take_patiently(self, lock):
        while True:
            with contextlib.suppress(self.stalled):
                lock.acquire(timeout=STALLED)
                return

    def take(self, lock):
        """False if it was canceled."""
        try:
            return lock.acquire()
        except self.canceled:
            return False

    def in_line(self, name):
        return len(self.client.get_children(f"/kazoo-{name}"))

    def call_off(self, locks):
        for lock in locks:
            lock.cancel()

    def close(self):
        self.client.stop()


class RedisPy:
    """It has no queue, and no readers."""

    def __init__(self, address):
        import redis
        host, _, port = address.rpartition(":")
        self.client = redis.Redis(host=host, port=int(port)) if host else \
            redis.Redis(unix_socket_path=address)

    def lock(self, name):
        return self.client.lock(f"redis-py-{name}", timeout=LEASE)

    def take(self, lock):
        return lock.acquire()

    def in_line(self, _name):
        return sys.maxsize

    def call_off(self, locks):
        pass  # each gets it once more, and ends

    def close(self):
        self.client.close()


class Shared:
    """The memory that all processes of one side share."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)

    def get(self, form, at):
        return struct.unpack_from(form, self.map, at)[0]

    def set(self, form, at, value):
        struct.pack_into(form, self.map, at, value)

    def took(self, us):
        """Only for the holder of the lock."""
        at = self.get("Q", TAKEN)
        if at < MOST:
            self.set("d", TOOK + 8 * at, us)
            self.set("Q", TAKEN, at + 1)


def now_us():
    return time.monotonic() * 1e6


def must(true):
    """Ends the process, also from a thread."""
    if not true:
        print("turns.py: exclusion failed", file=sys.stderr)
        os._exit(1)


# ---- Turns ----------------------------------------------------------------------------------------


class Turns:
    """Calls `turn()`, which returns microseconds or None, until the time is over."""

    def __init__(self, seconds):
        self.end, self.took, self.counts = time.monotonic() + seconds, [], []

    def repeat(self, turn):
        took = []
        while not took or time.monotonic() < self.end:
            took.append(turn())
        self.took += [us for us in took if us is not None]
        self.counts.append(len(took))

    def repeat_each(self, turns):
        threads = [threading.Thread(target=self.repeat, args=[turn]) for turn in turns]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def free_turn(lock):
    def turn():
        since = now_us()
        lock.acquire()
        lock.release()
        return now_us() - since
    return turn


def contended_turn(lock, shared, hold):
    def turn():
        since = now_us()
        lock.acquire()
        now, released, count = now_us(), shared.get("d", RELEASED), shared.get("Q", COUNT)
        must(shared.get("i", WRITERS) == 0)
        shared.set("i", WRITERS, 1)
        if released > since:
            shared.took(now - released)
        if hold > 0:
            time.sleep(hold)
        shared.set("Q", COUNT, count + 1)
        shared.set("i", WRITERS, 0)
        shared.set("d", RELEASED, now_us())
        lock.release()
    return turn


def reading_turn(client, reader, writer, shared):
    """Readers of several processes cannot count themselves; a writer marks that it is there."""
    def turn():
        write, since = random.randrange(100) >= READERS, now_us()
        lock = writer if write else reader
        client.take_patiently(lock)
        must(shared.get("i", WRITERS) == 0)
        if write:
            shared.set("i", WRITERS, 1)
            shared.set("i", WRITERS, 0)
        lock.release()
        return now_us() - since
    return turn


def take_turns(client, shared, kind, count, hold, seconds):
    own = f"{kind}-{random.getrandbits(32):x}"
    turns = Turns(seconds)
    if kind == "S3":
        turns.repeat(contended_turn(client.lock("S3"), shared, hold))
    elif kind == "S5":
        turns.repeat(reading_turn(client, *client.both("S5"), shared))
    else:
        turns.repeat_each([free_turn(client.lock(f"{own}-{number}")) for number in range(count)])
    return sum(turns.counts), None, min(turns.counts), turns.took


# ---- Many waiters ----------------------------------------------------------------------------------


class Crowd:
    """Threads wait for one lock.  With `hands`, a holder queues again, until there were so many hand-overs
    to a waiter or the time is over: redis-py's waiters sleep most of the time."""

    def __init__(self, clients, waiters, hands):
        self.client, self.hands = clients[0], hands
        self.took, self.asked, self.over, self.holders = [], 0, False, 0
        self.first = clients[0].lock("crowd")
        self.first.acquire()
        self.released = self.ended = None
        self.locks = [clients[number % len(clients)].lock("crowd") for number in range(waiters)]
        self.threads = [threading.Thread(target=self.wait, args=[clients[number % len(clients)], lock])
                        for number, lock in enumerate(self.locks)]
        for thread in self.threads:
            thread.start()
        while self.asked < waiters or self.client.in_line("crowd") <= waiters:
            time.sleep(0.001)

    def wait(self, client, lock):
        self.asked += 1
        while True:
            since = now_us()
            if not client.take(lock):
                return
            self.holders += 1
            must(self.holders == 1)
            if self.released > since and not self.over:
                self.ended = now_us()
                self.took.append(self.ended - self.released)
                self.over = len(self.took) == self.hands
            over = self.over or not self.hands
            self.holders -= 1
            self.released = now_us()
            lock.release()
            if over:
                return

    def go(self):
        """Seconds for so many hand-overs; all threads have ended when it returns."""
        begin = self.released = now_us()
        self.first.release()
        if self.hands:
            while not self.over and (now_us() - begin < LONGEST * 1e6 or not self.took):
                time.sleep(0.001)
            self.over = True
            mark()
            self.client.call_off(self.locks)
        for thread in self.threads:
            thread.join()
        return (self.ended - begin) / 1e6


def mark():
    print("mark", flush=True)
    sys.stdin.readline()


def crowd(clients, kind, count, size):
    waiting = Crowd(clients if kind == "S8" else clients[:1], count, int(size) if kind == "S8" else 0)
    if kind != "S4":
        mark()
    seconds = waiting.go()
    return (len(waiting.took), seconds, 0, waiting.took) if kind == "S8" else (count, None, 0, [])


# ---- Requests ---------------------------------------------------------------------------------------


def play(clients, shared, scenario, size):
    """(operations, seconds or None, turns of the session with the fewest, microseconds)"""
    kind, _, rest = scenario.partition(":")
    count, _, hold = rest.partition("@")
    if kind in ("S4", "S7", "S8"):
        return crowd(clients, kind, int(count), size)
    return take_turns(clients[0], shared, kind, int(count or 1), float(hold or 0) / 1000, size)


def main():
    connect = {"kazoo": Kazoo, "redis-py": RedisPy}[sys.argv[1]]
    clients = [connect(sys.argv[2])]
    if sys.argv[3] == "first":
        with clients[0].lock("S6"):
            print(f"held {now_us():.0f}", flush=True)
        return clients[0].close()
    threading.stack_size(256 * 1024)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # redis-py connects each thread
    shared = Shared(sys.argv[3])
    while line := sys.stdin.readline():
        scenario, size = line.split()
        if scenario.startswith("S8") and len(clients) == 1:
            clients.append(connect(sys.argv[2]))
        start = time.monotonic()
        count, seconds, least, took = play(clients, shared, scenario, float(size))
        took = sorted(took) or [0]
        print(scenario, count, f"{seconds or time.monotonic() - start:.6f}", least,
              took[len(took) // 2], took[int((len(took) - 1) * 0.99)], flush=True)
    for client in clients:
        client.close()


main()
