"""web.py - shared by the tests of holdfast-web: the program, and a client for it.

    site = Site(t, "--allow-break")      started by `holdfast web`, on a free port
    me = site.enter()                    a client that is logged in
    me.get("/api/locks").json
"""
import http.client
import json
import os
import pathlib
import re
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):  # the build folder
    os.environ["HOLDFAST"] = f"{sys.argv.pop(1)}/holdfast"
from hf import *  # noqa: E402,F403
import hf  # noqa: E402

PROGRAM = f"{hf.HOLDFAST}-web"
KEY = re.compile(r"(http://\S+)/#key=([0-9a-f]+)")


def needs_program():
    if not os.access(PROGRAM, os.X_OK):
        print("1..0 # SKIP holdfast-web is not built: libmicrohttpd is missing")
        sys.exit(77)


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.text = response.read().decode()

    @property
    def json(self):
        return json.loads(self.text)


class Site:
    """A running holdfast-web; a thread reads its stderr."""

    def __init__(self, t, *options, listen="127.0.0.1:0", env=None):
        self.t, self.log, self.more = t, [], threading.Condition()
        self.process = t.start("web", "--listen", listen, *options, env=env or {})
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.key = self.wait_for(KEY)[2]
        self.base = KEY.search("".join(self.log))[1]
        self.unix = listen[5:] if listen.startswith("unix:") else None
        self.port = None if self.unix else int(self.base.rpartition(":")[2])
        self.host = self.base.removeprefix("http://")

    def read(self):
        for line in self.process.stderr:
            with self.more:
                self.log.append(line.decode())
                self.more.notify_all()
        with self.more:
            self.log.append(None)
            self.more.notify_all()

    def text(self):
        return "".join(line for line in self.log if line)

    def wait_for(self, pattern, after=0):
        """The match of a pattern in a line of stderr, after the first so many."""
        def found():
            for line in self.log[after:]:
                if line and (match := re.search(pattern, line)):
                    return match
            return None
        with self.more:
            self.more.wait_for(lambda: found() or None in self.log, hf.LIMIT)
            match = found()
        self.t.true(match, f"{pattern!r} was not printed: {self.text()!r}")
        return match

    def connect(self, limit=hf.LIMIT):
        if self.unix is None:
            return socket.create_connection(("127.0.0.1", self.port), limit)
        plug = socket.socket(socket.AF_UNIX)
        plug.settimeout(limit)
        plug.connect(self.unix)
        return plug

    def enter(self):
        """Logs in with the key of the printed address."""
        client = Client(self)
        answer = client.post("/api/enter", {"key": self.key})
        self.t.equal(answer.status, 200, "log in")
        client.token = answer.json["token"]
        return client

    def end(self, sig=hf.signal.SIGTERM):
        self.process.send_signal(sig)
        code = self.process.wait(hf.LIMIT)
        self.reader.join()
        self.process.stderr.close()
        self.process.stderr = None
        return code


class Client:
    def __init__(self, site):
        self.site, self.token = site, None

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("localhost", timeout=hf.LIMIT)
        connection.sock = self.site.connect()
        own = {"Host": self.site.host}
        if self.token:
            own["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            own["Content-Type"] = "application/json"
        own.update(headers or {})
        own = {name: value for name, value in own.items() if value is not None}
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
            for name, value in own.items():
                connection.putheader(name, value)
            if data:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data or None)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, headers=None):
        return self.ask("GET", path, headers=headers)

    def post(self, path, body, headers=None):
        return self.ask("POST", path, body, headers)

    def stream(self, headers=None):
        return Stream(self, headers or {})


class Stream:
    """Server-sent events, read one at a time."""

    def __init__(self, client, headers):
        lines = [f"Host: {client.site.host}", f"Authorization: Bearer {client.token}",
                 *(f"{name}: {value}" for name, value in headers.items())]
        self.plug = client.site.connect()
        self.plug.sendall(("GET /api/events HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode())
        self.response = http.client.HTTPResponse(self.plug)
        self.response.begin()
        self.status = self.response.status

    def next(self, kind=None):
        """(kind, data, id) of the next event of that kind."""
        while True:
            event = {}
            while line := self.response.readline().decode().rstrip("\n"):
                name, _, value = line.partition(": ")
                event[name] = value
            if not event:
                raise hf.Failure("the stream has ended")
            if kind is None or event["event"] == kind:
                return event["event"], json.loads(event["data"]), event.get("id")

    def until(self, what, condition):
        """The first event of kind `what` for which the condition holds."""
        while True:
            _, data, number = self.next(what)
            if condition(data):
                return data, number

    def close(self):
        self.response.close()
        self.plug.close()
