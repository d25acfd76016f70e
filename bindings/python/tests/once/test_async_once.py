"""What asyncio needs, whatever the store."""
import asyncio
import os
import time

import pytest

import holdfast


def test_a_task_may_take_it_again():
    async def main():
        lock = holdfast.Lock("again")
        async with lock:
            async with lock:
                token = lock.token
            assert lock.is_held and lock.token == token
        assert not lock.is_held
        with pytest.raises(holdfast.NotHeld):
            await lock.release_async()

    asyncio.run(main())


def test_another_task_sees_what_is_held():
    """A subtask of the body looks at the lock, but cannot release it."""
    async def look(lock):
        with pytest.raises(holdfast.NotHeld):
            await lock.release_async()
        return lock.token, lock.left

    async def main():
        lock = holdfast.Lock("subtask")
        async with lock:
            assert await asyncio.create_task(look(lock)) == (lock.token, lock.left)

    asyncio.run(main())


def test_acquired_by_a_task_that_has_ended():
    async def main():
        lock = holdfast.Lock("helper")
        for _ in range(2):
            await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(lock.acquire_async())), 5)
            assert lock.is_held and lock.token > 0
            await lock.release_async()
            assert not lock.is_held

    asyncio.run(main())


def test_decorator():
    lock = holdfast.Lock("decorated")

    @lock
    async def work(value):
        """What it does."""
        assert lock.is_held
        return value

    assert work.__doc__ == "What it does."
    assert asyncio.run(work(5)) == 5
    assert not lock.is_held


def test_a_loop_that_ends_leaves_nothing():
    async def main():
        async with holdfast.Lock("ends"):
            pass

    asyncio.run(main())
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        asyncio.run(main())
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_loop_that_is_closed_without_a_shutdown():
    """Its client goes when another loop wants one; what it held is free then."""
    lock = holdfast.Lock("abandoned")
    for _ in range(3):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(lock.acquire_async(0.5))
        loop.close()
    assert not lock.is_held


def test_a_blocked_loop_loses_its_lease():
    async def main():
        with pytest.raises(holdfast.LockLost):
            async with holdfast.Lock("blocked", url="memory:blocked?lease=300") as lock:
                assert lock.left < 1
                time.sleep(0.5)
                assert not lock.is_held

    asyncio.run(main())


def test_a_client_with_a_thread_is_refused():
    async def main():
        with holdfast.Client() as client:
            with pytest.raises(holdfast.InvalidArgument, match="this loop"):
                async with holdfast.Lock("mine", client=client):
                    pass

    asyncio.run(main())


def test_fork_inside_a_loop():
    """The child has neither the lock nor the client, and hurts neither."""
    async def main():
        lock = holdfast.Lock("forked")
        async with lock:
            child = os.fork()
            if child == 0:
                try:
                    lock.token
                except holdfast.ForkedError:
                    os._exit(3)
                os._exit(4)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
            await asyncio.sleep(0.05)
            assert lock.is_held
            lock.ensure_held()

    asyncio.run(main())


def test_a_forked_child_has_a_loop_of_its_own():
    async def work(lock, result):
        async with lock:
            return result

    lock = holdfast.Lock("child")
    assert asyncio.run(work(lock, 1)) == 1
    child = os.fork()
    if child == 0:
        os._exit(asyncio.run(work(lock, 7)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert asyncio.run(work(lock, 2)) == 2
