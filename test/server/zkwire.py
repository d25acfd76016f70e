"""zkwire - a minimal client of ZooKeeper for tests.

    with zkwire.Client("127.0.0.1:2181") as zk:
        zk.create("/a", b"text")
        zk.children("/")

It shares no code with Holdfast's own client, so that tests can trust it: it shows what the server
says.  It sends one request at a time and no pings: a client that is silent for longer than its
session time loses its session.  It does not retry.
"""
import collections
import socket
import struct

PERSISTENT, EPHEMERAL, SEQUENTIAL, EPHEMERAL_SEQUENTIAL, CONTAINER = range(5)

CODES = {
    -4: "connection loss", -6: "unimplemented", -8: "bad arguments", -101: "no node",
    -102: "no authorization", -103: "bad version", -110: "node exists", -111: "not empty",
    -112: "session expired", -115: "authentication failed", -119: "not in read-only mode",
}

Stat = collections.namedtuple(
    "Stat", "czxid mzxid ctime mtime version cversion aversion owner length children pzxid")
STAT = struct.Struct(">qqqqiiiqiiq")


class Error(RuntimeError):
    def __init__(self, code, what=""):
        super().__init__(f"{what}: {CODES.get(code, code)}")
        self.code = code


def no_node(error):
    return isinstance(error, Error) and error.code == -101


def address(text):
    """("127.0.0.1", 2181) of "127.0.0.1:2181", of the first in a list."""
    host, _, port = text.split(",")[0].rpartition(":")
    return host, int(port)


def word(where, text, timeout=2.0):
    """The answer to a four-letter word, such as srvr or wchs; OSError if there is none."""
    with socket.create_connection(address(where), timeout) as link:
        link.sendall(text.encode())
        parts = []
        while part := link.recv(65536):
            parts.append(part)
    return b"".join(parts).decode(errors="replace")


def packed(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack(">i", len(value)) + value


class Client:
    def __init__(self, where, session_ms=4000, timeout=10.0, tls=None, read_only=False):
        """`tls`: an ssl.SSLContext.  Waits for the server's welcome."""
        self.xid = 0
        self.link = socket.create_connection(address(where), timeout)
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.link = tls.wrap_socket(self.link, server_hostname=address(where)[0])
        self._send(struct.pack(">iqiq", 0, 0, session_ms, 0) + packed(bytes(16))
                   + struct.pack(">?", read_only))
        welcome = self._receive()
        if len(welcome) not in (36, 37):  # an error instead
            raise Error(struct.unpack_from(">i", welcome, 12)[0], "no session")
        _, self.session_ms, self.session = struct.unpack_from(">iiq", welcome)
        self.is_read_only = len(welcome) > 36 and welcome[36] != 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End the session."""
        if self.link is not None:
            try:
                self._ask(-11, b"", "close")
            except (OSError, Error):
                pass
            self.abandon()

    def abandon(self):
        """End only the connection; the session lives until it times out."""
        if self.link is not None:
            self.link.close()
        self.link = None

    def create(self, path, data=b"", mode=PERSISTENT):
        """Returns the name that the node got."""
        body = packed(path) + packed(data)
        body += struct.pack(">ii", 1, 31) + packed("world") + packed("anyone")
        answer = self._ask(19 if mode == CONTAINER else 1, body + struct.pack(">i", mode), path)
        size, = struct.unpack_from(">i", answer)
        return answer[4:4 + size].decode()

    def ensure(self, path):
        """Make a node and its parents; no error if they exist."""
        for end in [i for i, c in enumerate(path) if c == "/" and i > 0] + [len(path)]:
            try:
                self.create(path[:end])
            except Error as error:
                if error.code != -110:
                    raise

    def children(self, path):
        answer = self._ask(8, packed(path) + b"\0", path)
        count, = struct.unpack_from(">i", answer)
        at, names = 4, []
        for _ in range(count):
            size, = struct.unpack_from(">i", answer, at)
            names.append(answer[at + 4:at + 4 + size].decode())
            at += 4 + size
        return sorted(names)

    def tree(self, path):
        """The paths of all nodes below one."""
        found = []
        for name in self.children(path):
            below = f"{path.rstrip('/')}/{name}"
            found.append(below)
            try:
                found += self.tree(below)
            except Error as error:
                if not no_node(error):
                    raise
        return found

    def data(self, path):
        """(bytes, Stat)"""
        answer = self._ask(4, packed(path) + b"\0", path)
        size = max(struct.unpack_from(">i", answer)[0], 0)
        return answer[4:4 + size], Stat(*STAT.unpack_from(answer, 4 + size))

    def exists(self, path):
        """The Stat, or None."""
        try:
            return Stat(*STAT.unpack_from(self._ask(3, packed(path) + b"\0", path)))
        except Error as error:
            if no_node(error):
                return None
            raise

    def set(self, path, data, version=-1):
        body = packed(path) + packed(data) + struct.pack(">i", version)
        return Stat(*STAT.unpack_from(self._ask(5, body, path)))

    def delete(self, path, version=-1):
        self._ask(2, packed(path) + struct.pack(">i", version), path)

    def delete_all(self, path):
        """Delete a node and all below it; no error if one is gone already."""
        for one in [*reversed(self.tree(path)), path]:
            try:
                self.delete(one)
            except Error as error:
                if not no_node(error):
                    raise

    def acl(self, path):
        """[(permissions, scheme, id)]"""
        answer = self._ask(6, packed(path), path)
        count, = struct.unpack_from(">i", answer)
        at, entries = 4, []
        for _ in range(count):
            permissions, = struct.unpack_from(">i", answer, at)
            at += 4
            words = []
            for _ in range(2):
                size, = struct.unpack_from(">i", answer, at)
                words.append(answer[at + 4:at + 4 + size].decode())
                at += 4 + size
            entries.append((permissions, *words))
        return entries

    def set_acl(self, path, entries):
        body = packed(path) + struct.pack(">i", len(entries))
        for permissions, scheme, who in entries:
            body += struct.pack(">i", permissions) + packed(scheme) + packed(who)
        self._ask(7, body + struct.pack(">i", -1), path)

    def sync(self, path="/"):
        self._ask(9, packed(path), path)

    def auth(self, scheme, secret):
        self._ask(100, struct.pack(">i", 0) + packed(scheme) + packed(secret), "auth", xid=-4)

    # ---- Frames -----------------------------------------------------------------

    def _ask(self, opcode, body, what, xid=None):
        if xid is None:
            self.xid += 1
            xid = self.xid
        self._send(struct.pack(">ii", xid, opcode) + body)
        while True:
            answer = self._receive()
            got, _zxid, code = struct.unpack_from(">iqi", answer)
            if got == xid:
                break
        if code != 0:
            raise Error(code, what)
        return answer[16:]

    def _send(self, body):
        self.link.sendall(struct.pack(">i", len(body)) + body)

    def _receive(self):
        size, = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size):
        parts = b""
        while len(parts) < size:
            part = self.link.recv(size - len(parts))
            if not part:
                raise Error(-4, "the server ended the connection")
            parts += part
        return parts
