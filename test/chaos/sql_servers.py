"""sql_servers - PostgreSQL and MariaDB in `make chaos`."""
import contextlib
import pathlib
import random
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
import mariadb  # noqa: E402
import postgres  # noqa: E402
import postgres_pair  # noqa: E402
from store import Store  # noqa: E402


TOTALS = 'wrong totals of "{}": {} used, {} holders, {} waiting; its places say {}, {}, {}'
GHOST = 'a place in "{}" without its session {}'
STRAY = 'a place in "{}", which has no line'
TWINS = 'in "{}" two have slot {}'


class Storm(threading.Thread):
    """Ends queries, whichever run, every few milliseconds, until stop() returns how many."""

    def __init__(self, strike, errors):
        super().__init__(daemon=True)
        self.strike, self.errors = strike, errors  # strike() returns how many; errors: what it may raise
        self.over, self.count = threading.Event(), 0
        self.start()

    def run(self):
        while not self.over.wait(random.uniform(0, 0.003)):
            with contextlib.suppress(OSError, *self.errors):
                self.count += self.strike()

    def stop(self):
        self.over.set()
        self.join()
        return self.count


class Sql(Store):
    """`module`: starts the server; `nowhere`: what connects it to no database of ours; PLACES, QUERIES: for
    left()."""

    def __init__(self, dice, folder):
        super().__init__(dice, folder)
        self.server = self.module.standalone(env=self.clock_env())
        self.addresses = (f"127.0.0.1:{self.server.port}",)

    def url(self, addresses):
        return (f"{self.scheme}://{self.module.USER}:{self.module.PASSWORD}@{','.join(addresses)}/"
                f"{self.server.database}?ttl={int(self.ttl * 1000)}ms")

    def faults(self):
        return {"server-killed": lambda: self.killed(self.server),
                "server-stopped": lambda: self.frozen(self.server),
                "server-restarted": lambda: self.server.restart("fast"),
                "server-clock-forward": lambda: self.step(1),
                "server-clock-back": lambda: self.step(-1)}

    def storm(self):
        """Returns as a fault does."""
        link = self.server.connect(*self.nowhere)
        storm = Storm(lambda: self.strike(link), self.errors)

        def stop():
            count = storm.stop()
            link.close()
            return count
        return self.dice.choice([0.3, 1, 2, 3]) * self.ttl, stop

    def left(self, empty):
        for text, query in self.QUERIES.items():
            for row in self.server.sql(query):
                yield text.format(*row)
        if empty:
            for row in self.server.sql(self.PLACES):
                yield "a place in \"{}\" of {}".format(*row)


class Postgres(Sql):
    scheme, module, nowhere, errors = "postgres", postgres, ("postgres",), (postgres.pq.Error,)
    PLACES = "SELECT name, sid FROM holdfast.every_place"
    QUERIES = {
        TOTALS: "SELECT name, l.used, l.holders, l.waiting, c.used, c.holders, c.waiting FROM holdfast.line l "
                "FULL JOIN (SELECT name, sum(weight) FILTER (WHERE state = 'g') AS used, "
                "count(*) FILTER (WHERE state = 'g') AS holders, count(*) FILTER (WHERE state = 'w') AS waiting "
                "FROM holdfast.every_place GROUP BY name) c USING (name) "
                "WHERE (l.used, l.holders, l.waiting) IS DISTINCT FROM "
                "(coalesce(c.used, 0), coalesce(c.holders, 0), coalesce(c.waiting, 0))",
        GHOST: "SELECT name, sid FROM holdfast.every_place WHERE sid NOT IN (SELECT sid FROM holdfast.session) "
               "UNION ALL SELECT name, sid FROM holdfast.place WHERE sid NOT IN "
               "(SELECT sid FROM holdfast.session) AND state = 'b'",
        TWINS: "SELECT name, slot FROM holdfast.every_place WHERE slot >= 0 AND state = 'g' "
               "GROUP BY name, slot HAVING count(*) > 1"}

    def faults(self):
        return {**super().faults(), "terminate-backend": self.terminate, "queries-canceled": self.storm}

    def strike(self, link):
        return link.call("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE state = 'active' "
                         "AND starts_with(application_name, 'holdfast') AND random() < 0.5")[0][0]

    def terminate(self):
        try:
            return None if self.server.terminate_backends() else False
        except postgres.pq.Error:
            return False


class Pair(Postgres):
    """With a synchronous standby."""

    def __init__(self, dice, folder):
        Store.__init__(self, dice, folder)
        self.server = postgres_pair.pair()
        self.addresses = tuple(f"127.0.0.1:{port}" for port in self.server.ports)

    def faults(self):
        return {"server-killed": lambda: self.killed(self.server.primary),
                "server-stopped": lambda: self.frozen(self.server.primary),
                "terminate-backend": self.terminate,
                "queries-canceled": self.storm,
                "standby-away": self.away,
                "promoted": lambda: self.promote("go on"),
                "promoted-after-kill": lambda: self.promote("kill")}

    def processes(self):
        return [server for server in (self.server.primary, self.server.standby, self.server.old) if server]

    def away(self):
        self.server.away()
        return self.outage(), self.server.back

    def promote(self, what):
        self.server.promote(what)
        return self.outage(), self.server.pair


class MariaDb(Sql):
    scheme, module, nowhere, errors = "mariadb", mariadb, ("",), (mariadb.mywire.Error,)
    PLACES = "SELECT CONVERT(name USING utf8mb4), CONVERT(sid USING utf8mb4) FROM hf_place WHERE state <> 'b'"
    QUERIES = {
        TOTALS: "SELECT CONVERT(l.name USING utf8mb4), l.used, l.holders, l.waiting, c.used, c.holders, c.waiting "
                "FROM hf_line l LEFT JOIN (SELECT name, SUM(IF(state = 'g', weight, 0)) AS used, "
                "SUM(state = 'g') AS holders, SUM(state = 'w') AS waiting FROM hf_place GROUP BY name) c "
                "ON c.name = l.name WHERE (l.used, l.holders, l.waiting) <> "
                "(COALESCE(c.used, 0), COALESCE(c.holders, 0), COALESCE(c.waiting, 0))",
        GHOST: "SELECT CONVERT(name USING utf8mb4), CONVERT(sid USING utf8mb4) FROM hf_place "
               "WHERE sid NOT IN (SELECT sid FROM hf_session)",
        STRAY: "SELECT CONVERT(name USING utf8mb4) FROM hf_place "
               "WHERE state <> 'b' AND name NOT IN (SELECT name FROM hf_line)",
        TWINS: "SELECT CONVERT(name USING utf8mb4), slot FROM hf_place WHERE slot >= 0 AND state = 'g' "
               "GROUP BY name, slot HAVING COUNT(*) > 1"}

    def faults(self):
        return {**super().faults(),
                "kill-connection": lambda: self.kill_some("CONNECTION"),
                "kill-query": lambda: self.kill_some("QUERY"),
                "queries-killed": self.storm}

    def strike(self, link):
        """Not those that wait for messages."""
        killed = 0
        for thread, in link.run("SELECT id FROM information_schema.processlist WHERE command = 'Query' AND "
                                f"user = '{mariadb.USER}' AND state NOT IN ('User sleep', 'User lock') AND RAND() < 0.5"):
            with contextlib.suppress(mariadb.mywire.Error):  # it is gone
                link.run(f"KILL QUERY {int(thread)}")
                killed += 1
        return killed

    def kill_some(self, what):
        """Some connections of the workers, whatever they do; KILL QUERY also wakes those that sleep."""
        try:
            found = self.server.sql("SELECT id FROM information_schema.processlist "
                                    f"WHERE user = '{mariadb.USER}'")
            some = [row[0] for row in found if self.dice.random() < 0.7]
            for thread in some:
                with contextlib.suppress(mariadb.mywire.Error):
                    self.server.sql(f"KILL {what} {int(thread)}")
            return None if some else False
        except (OSError, mariadb.mywire.Error):
            return False
