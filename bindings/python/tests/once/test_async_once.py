"""asyncio, independent of the store."""
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import holdfast


def test_reentrant_for_a_task():
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


def test_another_task_sees_the_state():
    """A subtask of the body can read the state of the lock, but not release it."""
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


def test_two_places_of_ended_tasks_are_ambiguous():
    """The wrong slot would be worse than an error."""
    async def main():
        gpu = holdfast.Semaphore("helpers", 2)
        for _ in range(2):
            await asyncio.shield(asyncio.ensure_future(gpu.acquire_async()))
        with pytest.raises(holdfast.NotHeld):
            gpu.slot
        with pytest.raises(holdfast.NotHeld):
            await gpu.release_async()

    asyncio.run(main())


def test_task_and_thread_hold_it_together():
    """A shared lock: the task holds it and its thread, too; each releases its own."""
    read = holdfast.ReadLock("both", timeout=5)

    async def main():
        async with read:
            with read:
                assert read.is_held
            assert read.is_held

    asyncio.run(main())
    assert not read.is_held and holdfast.inspect("both") == []


def test_two_loops_share_a_lock():
    """Each in a thread of its own."""
    done = run_script("""
import sys, threading, time
sys.setswitchinterval(1e-6)
lock = holdfast.Semaphore("loops", 500, url="memory:loops", timeout=10)
end, faults = time.monotonic() + 3, []

async def look():
    lock.is_held

async def one():
    async with lock:
        await asyncio.sleep(0)
        await asyncio.create_task(look())

async def main():
    try:
        while time.monotonic() < end:
            await asyncio.gather(*(one() for _ in range(40)))
    except Exception as error:
        faults.append(error)

threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done", *faults)
""")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def run_script(code):
    """In a separate process, since it may crash or hang."""
    return subprocess.run([sys.executable, "-c", f"import asyncio, holdfast\n{code}"], timeout=30,
                          text=True, capture_output=True)


def test_a_generator_is_left_open_at_the_end():
    """The loop closes the generator and the client at once, in any order."""
    done = run_script("""
async def numbers():
    async with holdfast.Lock("open"):
        yield 1

async def main():
    async for number in numbers():
        break
    async with holdfast.Lock("other"):
        pass

for _ in range(8):
    asyncio.run(main())
print("done")
""")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_client_is_closed_first():
    done = run_script("""
async def shut_down():
    async with holdfast.Lock("early"):
        await asyncio.get_running_loop().shutdown_asyncgens()

async def wait_for_it(lock):
    try:
        async with lock:
            pass
    except holdfast.LockCanceled:
        print("canceled")

async def shut_down_under_a_waiter():
    lock = holdfast.Lock("early")
    async with lock:
        waiter = asyncio.ensure_future(wait_for_it(lock))
        await asyncio.sleep(0.05)
        await asyncio.get_running_loop().shutdown_asyncgens()
        await waiter

asyncio.run(shut_down())
asyncio.run(shut_down_under_a_waiter())
lock = holdfast.Lock("late")
loop = asyncio.new_event_loop()
loop.run_until_complete(lock.acquire_async())
loop.close()
asyncio.run(shut_down())  # closes what the other loop left
print("done")
""")
    assert (done.returncode, done.stdout) == (0, "canceled\ndone\n"), done.stderr


def test_a_handler_that_raises():
    """Wherever in our code it raises, no event is lost, and the loop keeps running."""
    done = run_script("""
import signal
raised = turns = 0

def on_alarm(_, frame):
    global raised
    if frame.f_code.co_name in ("_process", "_tell_news", "_told", "_wind"):
        raised += 1
        raise ZeroDivisionError
signal.signal(signal.SIGALRM, on_alarm)

async def work(lock):
    global turns
    for _ in range(2000):
        async with lock:
            turns += 1

async def main():
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    await asyncio.gather(*(work(holdfast.Lock("raises", url="memory:raises")) for _ in range(2)))
    signal.setitimer(signal.ITIMER_REAL, 0)

asyncio.run(main())
print("done", turns, raised > 0)
""")
    assert (done.returncode, done.stdout) == (0, "done 4000 True\n"), done.stderr


@pytest.fixture
def redis(tmp_path):
    """A server that the test can stop."""
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server here")
    socket = tmp_path / "redis"
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                               "--dir", tmp_path], stdout=subprocess.DEVNULL)
    try:
        for _ in range(500):
            if socket.exists():
                break
            time.sleep(0.01)
        yield server, f"redis+unix:{socket}?ttl=2s"
    finally:
        server.kill()
        server.wait()


def test_the_time_limit_is_kept_by_a_server_that_does_not_answer(redis):
    server, url = redis

    async def main():
        async with holdfast.Lock("first", url=url):
            pass
        server.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        with pytest.raises(holdfast.HoldfastError):
            await holdfast.Lock("frozen", url=url).acquire_async(0.3)
        waited = time.monotonic() - begin
        server.send_signal(signal.SIGCONT)
        return waited

    assert asyncio.run(main()) < 2  # else the lease ended it


def test_outside_of_a_task():
    coroutine = holdfast.Lock("by-hand").acquire_async()
    with pytest.raises(RuntimeError):
        coroutine.send(None)


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


def test_a_loop_that_ends_releases_everything():
    async def main():
        async with holdfast.Lock("ends"):
            pass

    asyncio.run(main())
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        asyncio.run(main())
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_loop_that_is_closed_without_a_shutdown():
    """Its client is closed when another loop opens one; its locks are free then."""
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
    """The child can use neither the lock nor the client, and harms neither."""
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
