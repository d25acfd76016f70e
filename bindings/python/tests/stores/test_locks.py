"""What must be so on every store."""
import pytest

import holdfast


@pytest.fixture
def client(url):
    with holdfast.Client(url) as client:
        yield client


@pytest.fixture
def other(url):
    with holdfast.Client(url) as client:
        yield client


def test_one_holder(client, other, name):
    with holdfast.Lock(name, client=client) as lock:
        assert lock.is_held and lock.locked() and lock.left > 0
        with pytest.raises(holdfast.LockBusy):
            holdfast.Lock(name, client=other).acquire(blocking=False)
        with pytest.raises(holdfast.LockTimeout):
            holdfast.Lock(name, client=other).acquire(timeout=0.05)
    assert not lock.is_held and lock.left == 0
    with holdfast.Lock(name, client=other, timeout=10):
        pass


def test_token_rises(client, other, name):
    tokens = []
    for one in (client, other, client):
        with holdfast.Lock(name, client=one) as lock:
            lock.ensure_held()
            tokens.append(lock.token)
    assert tokens == sorted(set(tokens)) and tokens[0] > 0
