"""Locks on every store."""
import threading

import pytest

import holdfast


def test_one_holder(client, other, name):
    with holdfast.Lock(name, client=client) as lock:
        assert lock.is_held and lock.is_locked and lock.locked() and lock.left > 0
        with pytest.raises(holdfast.LockBusy):
            holdfast.Lock(name, client=other).acquire(blocking=False)
        with pytest.raises(TimeoutError) as caught:
            holdfast.Lock(name, client=other).acquire(timeout=0.05)
        assert caught.value.codename == "HF_ETIMEOUT"
    assert not lock.is_held and lock.left == 0
    with pytest.raises(holdfast.NotHeld):
        lock.token
    with pytest.raises(holdfast.NotHeld):
        lock.release()
    with holdfast.Lock(name, client=other, timeout=10):
        pass


def test_token_rises(client, other, name):
    tokens = []
    for one in (client, other, client):
        with holdfast.Lock(name, client=one) as lock:
            lock.ensure_held()
            assert holdfast.verify(name, lock.token, client=other)
            tokens.append(lock.token)
    assert tokens == sorted(set(tokens)) and tokens[0] > 0
    assert not holdfast.verify(name, tokens[-1], client=other)


def test_reentrant(client, other, name):
    lock = holdfast.Lock(name, client=client)
    with lock, lock.acquire(timeout=1) as again:
        assert again is lock
        lock.acquire()
        lock.release()
        assert lock.is_held
    assert not lock.is_held
    with lock, pytest.raises(holdfast.DeadlockError) as caught:
        holdfast.Lock(name, client=client).acquire(timeout=10)
    assert isinstance(caught.value, holdfast.LockTimeout)  # code for filelock or kazoo handles that alone


def test_readers_and_writer(client, other, name):
    writer = holdfast.WriteLock(name, client=client)
    reader = holdfast.ReadLock(name, client=other)
    with reader, pytest.raises(holdfast.LockBusy):
        writer.acquire(blocking=False)
    with writer:
        with pytest.raises(holdfast.LockBusy):
            reader.acquire(timeout=0)
        with holdfast.ReadLock(name, client=client) as mine:
            assert mine.token == writer.token
        writer.downgrade()
        with reader:
            assert writer.is_held and reader.is_held
    with holdfast.Lock(name + "-other", client=client):
        with pytest.raises(holdfast.LockMismatch):
            holdfast.Semaphore(name + "-other", 3, client=other).acquire(timeout=5)


def test_semaphore(client, other, name):
    one = holdfast.Semaphore(name, 2, client=client)
    two = holdfast.Semaphore(name, 2, client=other)
    three = holdfast.Semaphore(name, 2, weight=2, client=other)
    with one, two:
        assert {one.slot, two.slot} == {0, 1}
    with one, pytest.raises(holdfast.LockBusy):
        three.acquire(blocking=False)


def test_claim(client, other, name):
    with holdfast.Claim(name, client=client):
        with pytest.raises(holdfast.LockBusy):
            holdfast.Claim(name, 0, client=other).acquire()


def test_all_of(client, other, name):
    both = holdfast.AllOf(f"{name}-b", holdfast.ReadLock(f"{name}-a"), client=client)
    with both:
        assert both.token == max(both.tokens) and len(both.tokens) == 2
        both.ensure_held()
        with pytest.raises(holdfast.LockBusy):
            holdfast.Lock(f"{name}-b", client=other).acquire(blocking=False)
        with holdfast.ReadLock(f"{name}-a", client=other, timeout=10):
            pass
    with holdfast.Lock(f"{name}-b", client=other):
        with pytest.raises(holdfast.LockTimeout):
            both.acquire(timeout=0.05)
    assert not both.is_held


def test_inspect_and_note(client, other, name):
    with holdfast.Lock(name, client=client, note="naïve ✓") as lock:
        entry, = holdfast.inspect(name, client=other)
        assert (entry.name, entry.kind, entry.held) == (name, "mutex", True)
        assert (entry.token, entry.note) == (lock.token, "naïve ✓")
    assert holdfast.inspect(name, client=other) == []


def test_broken_is_lost(client, other, name):
    lost, asked = threading.Event(), threading.Event()
    lock = holdfast.Lock(name, client=client, on_lost=lambda _: lost.set(),
                         on_asked=lambda _: asked.set())
    with pytest.raises(holdfast.LockLost):
        with lock:
            assert holdfast.ask(name, "hotfix", client=other) == 1
            assert asked.wait(20) and lock.asked == "hotfix"
            assert not lost.is_set()
            holdfast.break_(name, lock.token, client=other)
            assert lost.wait(20)
            assert not lock.is_held
            with pytest.raises(holdfast.LockLost):
                lock.token
    with lock:  # it can be had again
        assert lock.is_held
    with pytest.raises(holdfast.NotFound):
        holdfast.break_(name, 1, client=other)


def test_the_body_matters_more(client, other, name):
    with pytest.raises(KeyError) as caught:
        with holdfast.Lock(name, client=client) as lock:
            holdfast.break_(name, lock.token, client=other)
            raise KeyError("mine")
    notes = getattr(caught.value, "__notes__", None)
    assert notes is None or name in notes[0]


def test_watch(client, other, name):
    lines = holdfast.watch(name, client=other)
    assert next(lines) == []
    with holdfast.Lock(name, client=client) as lock:
        assert [entry.token for entry in next(lines)] == [lock.token]
    assert next(lines) == []
    lines.close()


def test_election(client, other, name):
    heard = []
    deposed = threading.Event()

    def on_deposed(error):
        heard.append(error)
        deposed.set()

    with holdfast.Election(name, client=client, note="first", on_elected=heard.append,
                           on_deposed=on_deposed) as first:
        first.wait_to_lead(timeout=20)
        token = first.token
        assert first.leads and first.left > 0
        with holdfast.Election(name, client=other, note="second") as second:
            with pytest.raises(holdfast.LockTimeout):
                second.wait_to_lead(timeout=0.05)
            first.resign()
            second.wait_to_lead(timeout=20)
            assert second.token > token and not first.leads
            assert deposed.wait(20) and heard == [token, None]
            assert [entry.note for entry in second.candidates()] == ["second"]


def test_threads_take_turns(client, name):
    lock, inside, most = holdfast.Lock(name, client=client), 0, 0

    def work():
        nonlocal inside, most
        for _ in range(5):
            with lock:
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1 and not lock.is_held
