#!/usr/bin/python3 -B
"""library - a process that works under a lock of a Python library; Debian's Python has all of these.

    library.py KIND ADDRESS FILE WHO LEASE

KIND: kazoo, kazoo-listener, redis-py, set-nx, advisory.  Each is used as its documentation shows it.
"""
import pathlib
import sys
import threading
import time

from stamp import Holder


def kazoo(address, history, lease, listens=False):
    from kazoo.client import KazooClient, KazooState
    client = KazooClient(hosts=address, timeout=lease)
    suspended = threading.Event()
    if listens:
        client.add_listener(lambda state: None if state == KazooState.CONNECTED else suspended.set())
    client.start()
    history.want()
    with client.Lock(f"/{LOCK}", history.turn["who"]):
        history.grant()
        history.work(lambda: not suspended.is_set())
        history.release()
    client.stop()


def redis_client(address):
    import redis
    host, port = address.rsplit(":", 1)
    return redis.Redis(host=host, port=int(port), socket_timeout=1), redis


def redis_py(address, history, lease):
    """It extends the lock while it works, and stops if that fails."""
    client, redis = redis_client(address)
    history.want()
    lock = client.lock(LOCK, timeout=lease)
    lock.acquire()
    history.grant()
    extended = time.monotonic()

    def extend():
        nonlocal extended
        if time.monotonic() - extended < lease / 4:
            return True
        try:
            extended = time.monotonic()
            return lock.extend(lease, replace_ttl=True)
        except (redis.exceptions.LockError, redis.exceptions.RedisError):
            return False

    history.work(extend)
    history.release()


def set_nx(address, history, lease):
    """SET NX with an expiry, and DEL at the end; a thread keeps it from expiring."""
    client, redis = redis_client(address)
    history.want()
    while not client.set(LOCK, history.turn["who"], nx=True, px=int(lease * 1000)):
        time.sleep(0.05)
    history.grant()
    over = threading.Event()

    def renew():
        while not over.wait(lease / 4):
            try:
                client.pexpire(LOCK, int(lease * 1000))
            except redis.exceptions.RedisError:
                pass
    threading.Thread(target=renew, daemon=True).start()
    history.work()
    over.set()
    history.release()


def advisory(address, history, _lease):
    """pg_advisory_lock() in a session of its own; ADDRESS is a URL for libpq."""
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent.parent / "server"))
    import pq
    history.want()
    link = None
    while True:  # until it has the lock; a server that was restarted needs a new connection
        try:
            link = link or pq.Link(address)
            if link.call("SELECT pg_try_advisory_lock(hashtext($1))", LOCK)[0][0]:
                break
        except pq.Error:
            link = None
        time.sleep(0.05)
    history.grant()
    history.work()
    history.release()


KINDS = {"kazoo": kazoo, "redis-py": redis_py, "set-nx": set_nx, "advisory": advisory,
         "kazoo-listener": lambda *args: kazoo(*args, listens=True)}
kind, where, file, name, ttl = sys.argv[1:]
LOCK = pathlib.Path(file).parent.name
KINDS[kind](where, Holder(file, name), float(ttl))
