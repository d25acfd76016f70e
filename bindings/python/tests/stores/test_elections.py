"""Elections: what ends a wait for leading."""
import asyncio
import threading

import pytest

import holdfast

LIMIT = 10


class Waiting(threading.Thread):
    """Calls wait_to_lead() without a time limit, and keeps what it raises."""

    def __init__(self, election):
        super().__init__(daemon=True)
        self.election, self.error = election, None
        self.start()

    def run(self):
        try:
            self.election.wait_to_lead()
        except holdfast.HoldfastError as error:
            self.error = error

    def end(self):
        self.join(LIMIT)
        assert not self.is_alive(), "it still waits"
        return self.error


def until_queued(name, client, count=2):
    for queue in holdfast.watch(name, client=client):
        if len(queue) >= count:
            return


@pytest.fixture
def second(client, other, name):
    """A candidate that waits, since the other client leads."""
    with holdfast.Election(name, client=other) as first:
        first.wait_to_lead(LIMIT)
        second = holdfast.Election(name, client=client)
        until_queued(name, other)
        yield second
        second.close()


@pytest.mark.parametrize("how", ["close", "resign", "client"])
def test_a_wait_is_ended_by_another_thread(client, second, how):
    waiting = Waiting(second)
    {"close": second.close, "resign": second.resign, "client": client.close}[how]()
    assert isinstance(waiting.end(), holdfast.LockCanceled)


@pytest.mark.parametrize("how", ["close", "resign"])
def test_the_wait_of_a_task_is_ended(second, how):
    async def main():
        waiting = asyncio.create_task(second.wait_to_lead_async())
        await asyncio.sleep(0)
        await asyncio.to_thread({"close": second.close, "resign": second.resign}[how])
        with pytest.raises(holdfast.LockCanceled):
            await asyncio.wait_for(waiting, LIMIT)

    asyncio.run(main())


def test_nobody_waits_without_taking_part(client, name):
    election = holdfast.Election(name, client=client, observe=True)
    with pytest.raises(holdfast.NotHeld):
        election.wait_to_lead()
    election.join()
    election.wait_to_lead(LIMIT)
    election.resign()
    with pytest.raises(holdfast.LockCanceled):
        election.wait_to_lead()
    election.join()
    election.wait_to_lead(LIMIT)
    election.close()
    with pytest.raises(holdfast.NotHeld):
        election.wait_to_lead()
    with pytest.raises(holdfast.NotHeld):
        asyncio.run(election.wait_to_lead_async())


def test_a_leader_that_resigned_does_not_lead(client, name):
    with holdfast.Election(name, client=client) as election:
        election.wait_to_lead(LIMIT)
        for _ in range(20):
            old = election.token
            election.resign()
            assert not election.leads
            election.join()
            election.wait_to_lead(LIMIT)
            assert election.token > old


def test_once_deposed_the_wait_ends(client, other, name):
    with holdfast.Election(name, client=client, once=True) as election:
        election.wait_to_lead(LIMIT)
        holdfast.break_(name, election.token, client=other)
        until_lost = threading.Event()
        while election.leads:
            until_lost.wait(0.001)
        with pytest.raises(holdfast.LockLost):
            election.wait_to_lead()
