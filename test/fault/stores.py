"""stores - a row for each store with servers: how to start one, its URLs, and its error messages.

    from stores import *

    @case
    def a_plain_fact(t):
        works(t, row.url())

    play()

test/run gives every script here the name of one store; see test/server/command.py for the rest.
"""
import pathlib
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import mariadb  # noqa: E402
import postgres  # noqa: E402
import redis  # noqa: E402
import zkwire  # noqa: E402
import zookeeper  # noqa: E402


class Row:
    """Defaults."""
    bad_file, bad_files = 64, 6  # exit code for a bad file of TLS, and how many are bad; see tls.py
    expired = "expired"  # the message about an expired certificate
    stranger = "certificate"  # and about one of ours that the server refuses
    uncertified = "certificate"  # and about none, where the server wants one
    greeting = b""  # sent by a server before TLS
    greets_first = False  # or by the client?
    plain = ""  # a parameter that turns TLS off
    lasting = "9s"  # a lease that outlasts cut()

    def sent(self, name):
        """A name as it is sent."""
        return name

    def down(self):
        server.end()

    def up(self):
        server.start()

    def freeze(self):
        server.freeze()

    def thaw(self):
        server.thaw()

    def renew(self):
        """Take the server's certificate that is in its file now, and end all connections."""
        own = server.folder / "server.pem"
        own.write_text(pathlib.Path(server.tls["server"]).read_text())
        server.sql(self.reload)
        self.cut()


class Redis(Row):
    """With a password, and TLS."""
    name = scheme = "redis"

    def start(self, tls="want", **more):
        return redis.standalone(tls=tls, **{"requirepass": SECRET} | more)

    def called(self, at):
        """The name of a server in messages."""
        return f"Redis at {at}"

    def not_ours(self, at):
        """The message about a server with another protocol."""
        return f"{at} does not speak Redis's protocol"

    def url(self, at=None, more="", who=f":{SECRET}", lease="1s"):
        return f"redis://{who}@{at or server.address}?ttl={lease}{more}"

    def by_environment(self, lease):
        """A URL without a password, and the variable that has it."""
        return f"redis://{server.address}?ttl={lease}", {"HOLDFAST_REDIS_AUTH": f":{SECRET}"}

    def secure(self, at=None, ca=None, cert=None, key=None, of=None, lease=None):
        of = of or server
        return with_files(f"rediss://:{SECRET}@{at or of.tls_address}?ttl={lease or '1s'}", ca=ca, cert=cert, key=key)

    def cut(self):
        """End all connections; a server that restarts does so, too."""
        with server.client() as link:
            for kind in ("normal", "pubsub"):
                link.call("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")

    def renew(self):
        with server.client() as link:
            link.call("CONFIG", "SET", "tls-cert-file", server.tls["server"], "tls-key-file", server.tls["server"])
        self.cut()

    def secret_file(self, t):
        """A file with the password, and a URL that names it."""
        path = private(t, f":{SECRET}")
        return path, f"redis://{server.address}?ttl={self.lasting}&auth={path}"

    def change(self, path, secret):
        """Another password, in the server and then in the file."""
        with server.client() as link:
            link.call("CONFIG", "SET", "requirepass", secret)
        server.password = secret
        path.write_text(f":{secret}\n")

    def mixed_up(self):
        """Plain instead of TLS, and the other way round: [(URL, message)]."""
        return [(self.url(server.tls_address), "if it speaks TLS, write rediss:"),
                (self.secure(server.address, server.ca), "TLS")]

    def kept(self):
        """All data on the server, as text."""
        with server.client() as link:
            return repr([(key, link.call("DUMP", key)) for key in link.call("KEYS", "*")])

    def other_ways(self, t):
        """Other ways to give the password: [(arguments, environment)]."""
        bare = f"redis://{server.address}?ttl=1s"
        return [(["--url", f"{bare}&auth={private(t, f':{SECRET}')}"], {}),
                (["--url", bare], {"HOLDFAST_REDIS_AUTH": f":{SECRET}"})]

    def useless(self, at):
        """URLs with a password that are wrong or lead nowhere; nothing listens at `at`."""
        here = f"redis://:{SECRET}@{server.address}"
        return [f"{here}?x=1", f"{here}/x", f"{here}/99", f"redis://:{SECRET}@{at}",
                f"redis://:{SECRET}", f"redis://:{SECRET}/x@{at}", f"redis:{SECRET}@{at}",
                self.secure(), f"redis+unix::{SECRET}@/x", f"redis+sentinel://:{SECRET}@{at}/x",
                f"redis+sentinel://:{SECRET}@{at}"]


class Postgres(Row):
    """TLS is optional."""
    name = scheme = "postgres"
    bad_file, bad_files = 69, 5  # libpq ignores a key without a certificate
    expired, stranger = "certificate verify failed", "alert"
    greeting = b"S"
    plain = "&sslmode=disable"

    def start(self, tls="want"):
        made = postgres.standalone(tls=tls)
        made.sql(f"ALTER ROLE {postgres.USER} PASSWORD '{SECRET}'")
        made.ca, made.address = made.tls["ca"], f"127.0.0.1:{made.port}"
        return made

    def called(self, at):
        return f"PostgreSQL at {at}/test"

    def not_ours(self, at):
        return f"{at}/test"  # libpq's message differs

    def url(self, at=None, more="", who=f"{postgres.USER}:{SECRET}", lease="2s"):
        return f"postgres://{who}@{at or server.address}/test?ttl={lease}{more}"

    def by_environment(self, lease):
        return self.url(who=postgres.USER, lease=lease), {"PGPASSWORD": SECRET}

    def secure(self, at=None, ca=None, cert=None, key=None, of=None, lease=None):
        return with_files(self.url(at or (of or server).address, "&sslmode=verify-full", lease=lease or "2s"),
                          sslrootcert=ca, sslcert=cert, sslkey=key)

    reload = "SELECT pg_reload_conf()"

    def cut(self):
        server.terminate_backends()

    def secret_file(self, t):
        path = private(t, f"127.0.0.1:{server.port}:*:{postgres.USER}:{SECRET}")
        return path, self.url(who=postgres.USER, lease=self.lasting, more=f"&passfile={path}")

    def change(self, path, secret):
        server.sql(f"ALTER ROLE {postgres.USER} PASSWORD '{secret}'")
        path.write_text(f"127.0.0.1:{server.port}:*:{postgres.USER}:{secret}\n")

    def mixed_up(self):
        return []  # one port for both; see test/postgres/error_messages.py

    def kept(self):
        tables = [name for name, in server.sql("SELECT tablename::text FROM pg_tables "
                                               "WHERE schemaname = 'holdfast'")]
        return repr([server.sql(f"SELECT x::text FROM holdfast.{name} x") for name in tables])

    def other_ways(self, t):
        bare = self.url(who=postgres.USER)
        return [(["--url", f"{bare}&password={SECRET}"], {})]

    def useless(self, at):
        who = f"{postgres.USER}:{SECRET}"
        return [self.url(more="&x=1"), self.url(at), self.url("[::1"), self.url(f"{at}:x"),
                self.url(who=f"{who}%zz"), self.url(more=f"&password={SECRET}&x=1", who=postgres.USER),
                self.url(more=f"&password={SECRET}&sslmode=x", who=postgres.USER),
                f"postgres://{who}@/test", f"postgres://{who}@{server.address}/x",
                f"postgres://{who}", f"postgres:{SECRET}@{at}", f"postgres://{who}/x@{at}",
                f"postgres://{who}?x@{at}", f"postgres://{who}@{postgres.USER}@{at}/x",
                f"postgresql://:{SECRET}@/x", f"postgres://{postgres.USER}:a%00{SECRET}@{at}/x",
                f"postgres://{who}@{at}/x?passfile=/no/such"]


class MariaDb(Row):
    """TLS is optional."""
    name = scheme = "mariadb"
    uncertified = "does not let us in"
    greets_first = True
    greeting = (b"\x53\0\0\0\x0a10.11.0-MariaDB\0\1\0\0\0" + b"s" * 8 + b"\0\xff\xff\x2d\2\0\xff\x81\x15" +
                bytes(10) + b"s" * 12 + b"\0mysql_native_password\0")

    def sent(self, name):
        return name.encode().hex()

    def start(self, tls="want"):
        made = mariadb.standalone(tls=tls)
        made.sql(f"SET PASSWORD FOR {mariadb.USER}@'%' = PASSWORD('{SECRET}')")
        made.ca = made.tls["ca"]
        return made

    def called(self, at):
        return f"MariaDB at {at}"

    def not_ours(self, at):
        return f"{at} does not answer"  # the server speaks first

    def url(self, at=None, more="", who=f"{mariadb.USER}:{SECRET}", lease="2s"):
        return f"mariadb://{who}@{at or server.address}/test?ttl={lease}{more}"

    def by_environment(self, lease):
        return self.url(who=mariadb.USER, lease=lease), {"HOLDFAST_MARIADB_AUTH": SECRET}

    def secure(self, at=None, ca=None, cert=None, key=None, of=None, lease=None):
        return with_files(self.url(at or (of or server).address, "&tls=yes", lease=lease or "2s"), ca=ca, cert=cert, key=key)

    reload = "FLUSH SSL"

    def cut(self):
        server.terminate()

    def secret_file(self, t):
        path = private(t, SECRET)
        return path, self.url(who=mariadb.USER, lease=self.lasting, more=f"&auth={path}")

    def change(self, path, secret):
        server.sql(f"SET PASSWORD FOR {mariadb.USER}@'%' = PASSWORD('{secret}')")
        path.write_text(f"{secret}\n")

    def mixed_up(self):
        return []  # one port for both

    def kept(self):
        tables = [name for name, in server.sql("SELECT TABLE_NAME FROM information_schema.TABLES "
                                               "WHERE TABLE_SCHEMA = DATABASE()")]
        return repr([server.sql(f"SELECT * FROM `{mariadb.shown(name)}`") for name in tables])

    def other_ways(self, t):
        bare = self.url(who=mariadb.USER)
        return [(["--url", f"{bare}&auth={private(t, SECRET)}"], {}),
                (["--url", bare], {"HOLDFAST_MARIADB_AUTH": SECRET})]

    def useless(self, at):
        who = f"{mariadb.USER}:{SECRET}"
        return [self.url(more="&x=1"), self.url(at), self.url("[::1"), self.url(f"{at}:x"),
                f"mariadb://{who}@/test", f"mariadb://{who}@{server.address}/x", f"mariadb://{who}",
                f"mariadb:{SECRET}@{at}", f"mariadb://{who}/x@{at}", f"mysql://:{SECRET}@/x",
                self.url(more="&ca=/no/such"), self.url(more="&tls=no&ca=/no/such"),
                self.url(more="&polling=perhaps"), self.url(more="&auth=/no/such")]


class ZooKeeper(Row):
    """With TLS.  It has no passwords but those of nodes."""
    name, scheme, lasting = "zookeeper", "zk", "20s"

    def start(self, tls="want"):
        made = zookeeper.standalone(tls=tls, config={"maxSessionTimeout": 20000})
        made.ca = made.tls["ca"]
        return made

    def called(self, at):
        return f"ZooKeeper at {at}"

    def not_ours(self, at):
        return f"{at} does not speak ZooKeeper's protocol"

    def url(self, at=None, more="", who=f"ana:{SECRET}", lease="5s"):
        return f"zk://{who}@{at or server.address}?session={lease}{more}"

    def by_environment(self, lease):
        return f"zk://{server.address}?session={lease}", {"HOLDFAST_ZK_AUTH": f"ana:{SECRET}"}

    def secure(self, at=None, ca=None, cert=None, key=None, of=None, lease=None):
        return with_files(f"zks://{at or (of or server).secure_address}?session={lease or '5s'}",
                          ca=ca, cert=cert, key=key)

    def mixed_up(self):
        return [(self.url(server.secure_address), "does it speak TLS? then write zks:"),
                (self.secure(server.address, server.ca), server.address)]

    def cut(self):
        self.down()
        self.up()

    def renew(self):
        self.cut()

    def secret_file(self, t):
        path = private(t, f"ana:{SECRET}")
        return path, f"zk://{server.address}?session={self.lasting}&auth={path}"

    def change(self, path, secret):
        """Another identity: that of new nodes."""
        path.write_text(f"ana:{secret}\n")

    def down(self):
        server[1].end()

    def up(self):
        server[1].start()
        server.wait()

    def freeze(self):
        server[1].freeze()

    def thaw(self):
        server[1].thaw()

    def kept(self):
        with zkwire.Client(server.address) as link:
            link.auth("digest", f"ana:{SECRET}")
            return repr([(path, link.data(path), link.acl(path)) for path in link.tree("/")
                         if not path.startswith("/zookeeper")])

    def other_ways(self, t):
        bare = f"zk://{server.address}"
        return [(["--url", f"{bare}?auth={private(t, f'ana:{SECRET}')}"], {}),
                (["--url", bare], {"HOLDFAST_ZK_AUTH": f"ana:{SECRET}"})]

    def useless(self, at):
        who = f"ana:{SECRET}"
        return [f"zk://{who}@{at}", f"zk://{who}@{server.address}/nothing",
                f"zk://{who}@{server.address}?x=1", f"zk://{who}/x@{server.address}", f"zk://{who}"]


def with_files(url, **files):
    return url + "".join(f"&{name}={path}" for name, path in files.items() if path is not None)


def private(t, text):
    """A new file with this text that only its owner may read."""
    path = t.path(f"private.{len(list(t.folder.iterdir()))}")
    path.touch(mode=0o600)
    path.write_text(f"{text}\n")
    return path


def certificates():
    """The folder of the server's certificates."""
    return pathlib.Path(server.ca).parent


ROWS = {row.name: row for row in (Redis(), Postgres(), MariaDb(), ZooKeeper())}
row = ROWS[next(arg for arg in sys.argv[1:] if arg in ROWS)]
server = None


def play():
    global server
    sys.argv.remove(row.name)
    with store(row.scheme), row.start() as server:
        hf.main()
