"""`async with`, on every store: in one thread, the loop's."""
import asyncio
import contextlib
import os

import pytest

import holdfast
from holdfast._loop import LoopClient


def threads():
    return len(os.listdir("/proc/self/task"))


async def until(condition):
    """Wait until it is true, 20 s at most."""
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


def places(url, name):
    """How many hold or wait, as another client sees it."""
    with holdfast.Client(url) as client:
        return len(holdfast.inspect(name, client=client))


def test_one_holder_at_a_time(url, name):
    inside = most = 0

    async def work(lock):
        nonlocal inside, most
        async with lock:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.002)
            inside -= 1

    async def main():
        await asyncio.gather(*(work(holdfast.Lock(name, url=url)) for _ in range(8)))

    asyncio.run(main())
    assert (inside, most) == (0, 1)


def test_a_thousand_wait_in_one_thread(url, name):
    """First come first served, with tokens that rise, and no thread is started."""
    turns = []

    async def work(lock, number):
        async with lock as held:
            turns.append((number, held.token))

    async def main():
        before = threads()
        lock = holdfast.Lock(name, url=url)
        async with lock:
            tasks = [asyncio.create_task(work(lock, number)) for number in range(1000)]
            await asyncio.sleep(0.2)
            assert threads() == before
            assert not turns
        await asyncio.gather(*tasks)
        assert threads() == before

    asyncio.run(main())
    assert [number for number, _ in turns] == list(range(1000))
    assert [token for _, token in turns] == sorted({token for _, token in turns})


def test_wait_for_a_thousand_locks(url, name):
    """Another session holds all of them, and releases them one by one."""
    names = [f"{name}-{i}" for i in range(1000)]

    async def wait_for(lock):
        await lock.acquire_async()
        assert lock.token > 0

    async def main():
        before = threads()
        holder = LoopClient(asyncio.get_running_loop(), url)
        held = [holdfast.Lock(one, client=holder) for one in names]
        await asyncio.gather(*(lock.acquire_async() for lock in held))
        wanted = [holdfast.Lock(one, url=url) for one in names]
        tasks = [asyncio.create_task(wait_for(lock)) for lock in wanted]
        await asyncio.sleep(0.2)
        assert threads() == before
        assert not any(task.done() for task in tasks)
        for lock in held:
            await lock.release_async()
        await asyncio.gather(*tasks)
        assert threads() == before
        assert all(lock.is_held for lock in wanted)
        holder.close()

    asyncio.run(main())


def test_time_limit_and_try(url, name):
    async def other(lock, **how):
        await lock.acquire_async(**how)

    async def main():
        lock = holdfast.Lock(name, url=url)
        async with lock:
            with pytest.raises(holdfast.LockTimeout, match=name):
                await asyncio.create_task(other(lock, timeout=0.05))
            with pytest.raises(holdfast.LockBusy):
                await asyncio.create_task(other(lock, blocking=False))
            with pytest.raises(holdfast.LockTimeout):
                await asyncio.create_task(other(holdfast.Lock(name, 0.05, url=url)))
        await other(lock, blocking=False)
        await lock.release_async()

    asyncio.run(main())


def test_a_canceled_task_leaves_the_queue(url, name):
    async def work(lock):
        async with lock:
            raise AssertionError("it was canceled")

    async def main():
        lock = holdfast.Lock(name, url=url)
        async with lock:
            waiting = asyncio.create_task(work(lock))
            await until(lambda: places(url, name) == 2)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await until(lambda: places(url, name) == 1)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.create_task(work(lock)), 0.05)
            await until(lambda: places(url, name) == 1)
        await until(lambda: places(url, name) == 0)

    asyncio.run(main())


def test_canceled_at_any_moment(url, name):
    """However far the acquire has come, no place is left, and the next task gets the lock."""
    async def work(lock):
        async with lock:
            await asyncio.sleep(0)

    async def main():
        lock = holdfast.Lock(name, url=url)
        for steps in range(60):
            task = asyncio.create_task(work(lock))
            for _ in range(steps % 12):
                await asyncio.sleep(0)
            if steps >= 30:
                await asyncio.sleep(0.0002 * steps)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        async with lock:
            pass
        assert not lock._by_task

    asyncio.run(main())
    assert places(url, name) == 0


def test_a_lost_lock_is_reported_at_the_end(url, name):
    async def take_away(lock, client):
        client_lock = holdfast.inspect(name, client=client)
        holdfast.break_(name, client_lock[0].token, client=client)
        await until(lambda: not lock.is_held)

    async def main():
        lock = holdfast.Lock(name, url=url)
        with holdfast.Client(url) as client:
            with pytest.raises(holdfast.LockLost):
                async with lock:
                    await take_away(lock, client)
            with pytest.raises(KeyError):  # what the body raises matters more
                async with lock:
                    await take_away(lock, client)
                    raise KeyError
        async with lock:  # it can be used again
            assert lock.is_held

    asyncio.run(main())


def test_a_task_that_lost_the_lock_cannot_acquire_it_again(url, name):
    async def main():
        lock = holdfast.Lock(name, url=url)
        inside = False
        with holdfast.Client(url) as client, pytest.raises(holdfast.LockLost):
            async with lock:
                holdfast.break_(name, lock.token, client=client)
                await until(lambda: not lock.is_held)
                with pytest.raises(holdfast.LockLost):
                    async with lock:
                        inside = True
        assert not inside
        async with lock:
            async with lock:
                pass

    asyncio.run(main())


def test_callbacks_run_in_the_loop(url, name):
    async def main():
        loop = asyncio.get_running_loop()
        lost, asked = loop.create_future(), loop.create_future()
        lock = holdfast.Lock(name, url=url, on_lost=lost.set_result,
                             on_asked=lambda held: asked.set_result(held.asked))
        before = threads()
        with pytest.raises(holdfast.LockLost):
            async with lock:
                assert threads() == before
                with holdfast.Client(url) as client:
                    assert holdfast.ask(name, "soon", client=client) == 1
                    assert await asyncio.wait_for(asked, 20) == "soon"
                    holdfast.break_(name, lock.token, client=client)
                assert await asyncio.wait_for(lost, 20) is lock

    asyncio.run(main())


def test_kinds(url, name):
    async def main():
        async with holdfast.ReadLock(f"{name}-rw", url=url), \
                holdfast.ReadLock(f"{name}-rw", url=url):
            with pytest.raises(holdfast.LockTimeout):
                async with holdfast.WriteLock(f"{name}-rw", 0.02, url=url):
                    pass
        gpu = holdfast.Semaphore(f"{name}-gpu", 3, url=url)
        slots = []

        async def work():
            async with gpu:
                slots.append(gpu.slot)
                await until(lambda: len(slots) == 3)

        await asyncio.gather(work(), work(), work())
        assert sorted(slots) == [0, 1, 2]
        async with holdfast.Claim(f"{name}-claim", 0, url=url) as claim:
            assert claim.token > 0
        parts = [holdfast.Lock(f"{name}-{part}", url=url) for part in "ba"]
        async with holdfast.AllOf(*parts) as both:
            assert both.is_held
            with pytest.raises(holdfast.LockTimeout):
                await asyncio.create_task(parts[0].acquire_async(0.02))

    asyncio.run(main())


def test_election_and_questions_of_tasks(url, name):
    """The loop keeps running while they wait."""
    async def main():
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        async with holdfast.Election(name, url=url, note="first") as first:
            await first.wait_to_lead_async(20)
            with holdfast.Client(url) as client:
                async with holdfast.Election(name, client=client, note="second") as second:
                    with pytest.raises(holdfast.LockTimeout):
                        await second.wait_to_lead_async(0.05)
                    waiting = asyncio.create_task(second.wait_to_lead_async(20))
                    await asyncio.sleep(0.01)
                    before = turns
                    first.resign()
                    await waiting
                    assert second.leads and not first.leads and turns > before
        async with holdfast.Lock(f"{name}-lock", url=url) as lock:
            before = turns
            await lock.ensure_held_async()
            entry, = await holdfast.inspect_async(f"{name}-lock", url=url)
            assert entry.token == lock.token and turns > before
            with holdfast.Client(url) as client:
                holdfast.break_(f"{name}-lock", lock.token, client=client)
            with pytest.raises(holdfast.LockLost):
                await lock.ensure_held_async()
            raise KeyError  # matters more than the loss, and ends the block
        counting.cancel()

    with pytest.raises(KeyError):
        asyncio.run(main())
