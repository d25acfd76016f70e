"""kazoo_peer.py - a Python process that uses kazoo's locks, driven by the interop
tests.

    kazoo_peer.py MODE CONNECT PATH [ARGUMENT...]

The modes are those of CuratorPeer.java, except for revoking, which kazoo does not have.
With STYLE=kazoo in the environment the nodes have kazoo's own names; otherwise they have
Curator's, because Curator sees no others.  kazoo sees those by an extra pattern, and
writes them because the name of its lock is replaced.
"""
import os
import random
import sys
import time

from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock, ReadLock, WriteLock


class CuratorLock(Lock):
    _NODE_NAME = "-lock-"


def say(text):
    print(text, flush=True)


def pause():
    time.sleep(random.random() / 1000)


def start():
    say("ready")
    if not sys.stdin.readline():
        sys.exit(1)


def get_number(fd, at):
    return int(os.pread(fd, 20, at))


def put_number(fd, at, value):
    os.pwrite(fd, b"%019d\n" % value, at)


def turns(lock, total, path):
    mine, fd, more = 0, os.open(path, os.O_RDWR), True
    start()
    while more:
        lock.acquire()
        value = get_number(fd, 0)
        more = value < total
        if more:
            pause()
            put_number(fd, 0, value + 1)
            mine += 1
        lock.release()
    say(f"turns {mine}")


def rw(reader, writer, rounds, path, percent):
    writes, fd = 0, os.open(path, os.O_RDWR)
    start()
    for _ in range(rounds):
        write = random.randrange(100) < percent
        side = writer if write else reader
        side.acquire()
        first = get_number(fd, 0)
        if write:
            put_number(fd, 0, first + 1)
        pause()
        if get_number(fd, 20) != first:
            say("torn")
        if write:
            put_number(fd, 20, first + 1)
        side.release()
        writes += write
    say(f"writes {writes}")


def hold(lock):
    lock.acquire()
    say("held")
    sys.stdin.read()
    lock.release()
    say("released")


def attempt(lock):
    got = lock.acquire(blocking=False)
    if got:
        lock.release()
    sys.exit(0 if got else 1)


def main():
    mode, connect, path, *more = sys.argv[1:]
    client = KazooClient(connect, timeout=float(os.environ.get("SESSION", "4")))
    client.start()
    if os.environ.get("STYLE") == "kazoo":
        mutex = Lock(client, path, "kazoo")
    else:
        mutex = CuratorLock(client, path, "kazoo", extra_lock_patterns=["-lock-"])
    reader, writer = ReadLock(client, path, "kazoo"), WriteLock(client, path, "kazoo")
    side = reader if mode.endswith("read") else writer if mode.endswith("write") else mutex
    if mode == "turns":
        turns(mutex, int(more[0]), more[1])
    elif mode == "rw":
        rw(reader, writer, int(more[0]), more[1], int(more[2]))
    elif mode.startswith("hold"):
        hold(side)
    elif mode.startswith("try"):
        attempt(side)
    client.stop()


main()
