"""resp - a minimal client of Redis for tests.

    with resp.Client("127.0.0.1:6379") as redis:   # or the path of a Unix socket
        redis.call("SET", "a", 1)                  # "OK"
        redis.call("GET", "a")                     # "1"

It shares no code with Holdfast's own client, so that tests can trust it: it shows what the server
says.  Texts are str, in which bytes that are not UTF-8 survive (surrogateescape); nil is None; an
error is raised, or is an Error in a list.  It does not retry.
"""
import socket
import time


class Error(RuntimeError):
    """An error of the server; `code` is its first word, such as NOSCRIPT."""
    def __init__(self, text):
        super().__init__(text)
        self.code = text.split(" ", 1)[0]


class Closed(ConnectionError):
    """The server closed the connection."""


def connect(where, timeout):
    if "/" in where:
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(timeout)
        link.connect(where)
        return link
    host, _, port = where.rpartition(":")
    link = socket.create_connection((host, int(port)), timeout)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def packed(args):
    parts = [b"*%d\r\n" % len(args)]
    for arg in args:
        if not isinstance(arg, bytes):
            arg = str(arg).encode(errors="surrogateescape")
        parts.append(b"$%d\r\n%b\r\n" % (len(arg), arg))
    return b"".join(parts)


class Client:
    def __init__(self, where, timeout=10.0, tls=None, user=None, password=None, db=0):
        """`where`: "host:port" or a path.  `tls`: an ssl.SSLContext."""
        self.timeout = timeout
        self.buffer = b""
        self.link = connect(where, timeout)
        try:
            if tls is not None:
                self.link = tls.wrap_socket(self.link,
                                            server_hostname=where.rpartition(":")[0])
            if password is not None:
                self.call("AUTH", *([user] if user else []), password)
            if db:
                self.call("SELECT", db)
        except BaseException:
            self.link.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.link.close()

    def call(self, *args):
        """Send one command and wait for its answer."""
        self.send(*args)
        return self.receive()

    def calls(self, *commands):
        """Send many at once; returns a list of answers, errors included."""
        self.link.sendall(b"".join(packed(command) for command in commands))
        return [self._value(time.monotonic() + self.timeout) for _ in commands]

    def send(self, *args):
        self.link.sendall(packed(args))

    def receive(self):
        value = self._value(time.monotonic() + self.timeout)
        if isinstance(value, Error):
            raise value
        return value

    def push(self, timeout=0.0):
        """What a subscription or MONITOR brings; None if nothing came in time.

        [kind, channel, message], or [kind, pattern, channel, message].  A message that is
        cut off when the time is over is read on by the next call."""
        kept = self.buffer
        try:
            return self._value(time.monotonic() + timeout)
        except TimeoutError:
            self.buffer = kept + self.taken
            return None

    def subscribe(self, *channels, pattern=False):
        """Returns when the server has confirmed it."""
        self.send("PSUBSCRIBE" if pattern else "SUBSCRIBE", *channels)
        for _ in channels:
            self.receive()

    def info(self, section):
        """A section of INFO as a dict of texts."""
        lines = self.call("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def _more(self, deadline):
        # Read what has arrived even if the time is over.
        self.link.settimeout(max(deadline - time.monotonic(), 0.0001))
        try:
            part = self.link.recv(65536)
        finally:
            self.link.settimeout(self.timeout)
        if not part:
            raise Closed("the server closed the connection")
        self.buffer += part
        self.taken += part

    def _line(self, deadline):
        while (end := self.buffer.find(b"\r\n")) < 0:
            self._more(deadline)
        line, self.buffer = self.buffer[:end], self.buffer[end + 2:]
        return line.decode(errors="surrogateescape")

    def _value(self, deadline):
        self.taken = b""
        return self._parse(deadline)

    def _parse(self, deadline):
        line = self._line(deadline)
        kind, rest = line[:1], line[1:]
        if kind == "+":
            return rest
        if kind == "-":
            return Error(rest)
        if kind == ":":
            return int(rest)
        if kind == "$" and int(rest) >= 0:
            size = int(rest)
            while len(self.buffer) < size + 2:
                self._more(deadline)
            text, self.buffer = self.buffer[:size], self.buffer[size + 2:]
            return text.decode(errors="surrogateescape")
        if kind == "*" and int(rest) >= 0:
            return [self._parse(deadline) for _ in range(int(rest))]
        if kind in "$*":
            return None
        raise ValueError(f"no answer of Redis: {line!r}")
