#!/usr/bin/env -S python3 -B
"""pooler - the PostgreSQL store behind pgbouncer, which gives each transaction another connection.

test/run runs the promises and recipes behind a pooler, too.  This is about the differences: the
pooler is noticed, no state is left in the server's connections, how soon a waiter is granted, and
restarts of the pooler and the server."""
import os
import re
import subprocess
import sys
import time

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import postgres  # noqa: E402


server = None
COUNT = 'n=$(cat count); echo $((n + 1)) >count; echo "$HOLDFAST_TOKEN" >>tokens'


def use(t, pooler, params="?ttl=4s"):
    t.env["HOLDFAST_URL"] = pooler.url + params


def leave_nothing(t):
    """A session may stay for a while: close does not wait long for bye."""
    left = server.sql("SELECT (SELECT count(*) FROM holdfast.every_place), "
                      "(SELECT count(*) FROM holdfast.watch)")
    t.equal(left, [(0, 0)], "rows left")


def errors_in_log():
    """Errors of clients in the server's log, except that there was no schema yet."""
    return [line for line in (server.folder / "log").read_text().splitlines()
            if re.search(r" (ERROR|FATAL|WARNING): ", line)
            and not re.search(r'starting up|schema "holdfast" does not exist', line)]


def go_round(t, processes, turns):
    """Each process reads a number from a file, and writes it back plus one."""
    folder = t.path("work")
    folder.mkdir(exist_ok=True)
    (folder / "count").write_text("0\n")
    (folder / "tokens").write_text("")
    loop = f'for i in $(seq {turns}); do "$HOLDFAST" run -q -w 60 job -- sh -c \'{COUNT}\' || exit; done'
    env = t.env | {"HOLDFAST": hf.HOLDFAST}
    running = [subprocess.Popen(["sh", "-c", loop], cwd=folder, env=os.environ | env)
               for _ in range(processes)]
    t.equal([process.wait(120) for process in running], [0] * processes, "how they ended")
    t.equal((folder / "count").read_text(), f"{processes * turns}\n", "turns")
    tokens = [int(line) for line in (folder / "tokens").read_text().split()]
    t.equal(tokens, sorted(set(tokens)), "tokens")


@case
def processes_take_turns_behind_a_pooler(t):
    for settings in ({}, {"default_pool_size": 1}):
        use(t, server.pgbouncer(**settings))
        go_round(t, 4, 6)
        leave_nothing(t)
    t.equal(errors_in_log(), [])


@case
def session_mode_works_too(t):
    use(t, server.pgbouncer("session"))
    go_round(t, 2, 3)
    leave_nothing(t)


@case
def there_is_no_listen_behind_a_pooler(t):
    use(t, server.pgbouncer())
    holder = t.hold("a")
    waiter = t.start("run", "-w", "20", "a", "--", "true")
    t.waiting("a", 1)
    for _ in range(10):
        queries = server.sql("SELECT query FROM pg_stat_activity WHERE datname = 'test' "
                             "AND backend_type = 'client backend' AND query ILIKE 'listen%'")
        t.equal(queries, [])
        time.sleep(0.03)
    t.end(holder)
    t.equal(t.finish(waiter).code, 0)


def hand_over(t):
    """Seconds from the end of one to the beginning of the next."""
    holder = t.hold("a")
    waiter = t.start("run", "-w", "20", "a", "--", "date", "+%s.%N")
    t.waiting("a", 1)
    time.sleep(0.5)  # it polls less often by now
    t.end(holder)
    freed = time.time()
    return float(t.finish(waiter).out) - freed


@case
def a_waiter_is_granted_soon_after_the_release(t):
    use(t, server.pgbouncer())
    times = sorted(hand_over(t) for _ in range(5))
    print("# from release to grant, ms:", *(round(1000 * x) for x in times))
    t.true(times[2] < 0.6, f"{times}")


@case
def polling_works_without_a_pooler(t):
    """Without a pooler."""
    t.env["HOLDFAST_URL"] = server.url + "?ttl=4s&polling=yes"
    t.true(hand_over(t) < 1.5, "it takes long")
    t.equal(server.sql("SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'listen%'"), [(0,)])


@case
def a_grant_and_an_ask_between_two_polls_are_both_noticed(t):
    """The waiter polls."""
    t.env["HOLDFAST_URL"] = server.url + "?ttl=4s&polling=yes"
    holder = t.hold("a")
    waiter = t.start("run", "-w", "20", "a", "--", "sleep", "2")
    t.waiting("a", 1)
    time.sleep(0.5)
    server.sql("SELECT holdfast.break_place('a', (SELECT min(seq) FROM holdfast.every_place)); "
               "SELECT holdfast.ask('a', (SELECT max(seq) FROM holdfast.every_place), 'please')")
    t.equal(t.finish(holder).code, 79, "it was taken away")
    t.contains(t.finish(waiter).err, 'somebody asks for "a": please')


@case
def locks_survive_a_restart_of_the_pooler(t):
    pooler = server.pgbouncer()
    use(t, pooler)
    holder = t.hold("a")
    waiter = t.start("run", "-w", "20", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    pooler.process.kill()
    pooler.process.wait()
    pooler.start()
    time.sleep(1.5)  # a renewal
    t.equal(t.run("try", "-q", "a", "--", "true").code, 75, "it is still held")
    t.end(holder)
    t.equal(t.finish(waiter).out, "mine\n")
    leave_nothing(t)


@case
def locks_survive_a_restart_of_the_server(t):
    use(t, server.pgbouncer())
    holder = t.hold("a")
    waiter = t.start("run", "-w", "20", "a", "--", "echo", "mine")
    t.waiting("a", 1)
    server.restart()
    time.sleep(1.5)
    t.equal(t.run("try", "-q", "a", "--", "true").code, 75, "it is still held")
    t.end(holder)
    t.equal(t.finish(waiter).out, "mine\n")
    leave_nothing(t)


if __name__ == "__main__":
    with store("postgres"):
        postgres.program("pgbouncer")
        with postgres.standalone() as server:
            hf.main()
