"""postgres_pair - a PostgreSQL server and its synchronous standby, for tests of failover.

    with postgres_pair.pair() as pair:
        pair.url                     of both
        pair.away(), pair.back()     end the standby, and start it again
        pair.promote()               the standby becomes the primary; the old one goes on, alone
        pair.promote("kill")         ... or is killed
        pair.pair()                  end the old one, and start a new standby on its port

All other attributes are those of the primary.  Its commits wait for the standby.  Commits of a
promoted standby wait for nothing, until there is a pair again.
"""
import os
import shutil
import time

import sandbox
import postgres

LIMIT = 20.0  # seconds, for a busy machine


class Pair:
    def __init__(self, **more):
        self.primary, self.old = postgres.standalone(**more), None
        self.folder, self._lock = sandbox.make_folder()
        self.ports = [self.primary.port]
        try:
            self.pair()
        except BaseException:
            self.stop()
            raise
        self.ports.append(self.standby.port)

    def __getattr__(self, name):
        return getattr(self.primary, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        who = f"{postgres.USER}:{postgres.PASSWORD}"
        return f"postgres://{who}@{','.join(f'127.0.0.1:{p}' for p in self.ports)}/{self.database}"

    def wait_for(self, words):
        """Only for the administrator: our own commits are not affected."""
        self.primary.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{words}'", "postgres")
        self.primary.sql("SELECT pg_reload_conf()", "postgres")

    def pair(self):
        keeper = self.old.give_port() if self.old else None
        self.standby = postgres.Server(copy_of=self.primary, keeper=keeper,
                                       settings={"synchronous_standby_names": ""})
        self.old = None
        self.back()
        self.wait_for("*")

    def back(self):
        self.standby.start()
        end = time.monotonic() + LIMIT
        while not self.primary.sql("SELECT FROM pg_stat_replication WHERE state = 'streaming'"):
            if time.monotonic() > end:
                raise postgres.Failed("the standby does not follow")
            time.sleep(0.02)

    def away(self):
        self.standby.end()

    def promote(self, what="go on"):
        if what == "kill":
            self.primary.kill()
        self.standby.sql("SELECT pg_promote()", "postgres")
        self.primary, self.old, self.standby = self.standby, self.primary, None

    def stop(self):
        for server in (self.primary, self.old, getattr(self, "standby", None)):
            if server is not None:
                server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


def pair(**more):
    return Pair(**more)
