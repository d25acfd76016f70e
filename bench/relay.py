"""relay - stands between clients and a server, and counts round trips.

What a client sends counts as one trip, however much it is, until the server has sent
something since.  TCP alone; use it in a `with`.
"""
import contextlib
import selectors
import socket
import threading


class Relay:
    def __init__(self, host, port):
        self.server, self.trips = (host, port), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.stop_here, self.stopper = socket.socketpair()
        self.selector.register(self.stop_here, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopper.close()
        self.thread.join()

    def _accept(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(self.server)
        pair = {"asking": False}
        for here, there, asks in ((client, server, True), (server, client, False)):
            here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(here, selectors.EVENT_READ, (there, asks, pair))

    def _pass_on(self, here, there, asks, pair):
        try:
            data = here.recv(65536)
        except OSError:
            data = b""
        if not data:
            for end in (here, there):
                self.selector.unregister(end)
                end.close()
            return
        if asks and not pair["asking"]:
            self.trips += 1
        pair["asking"] = asks
        with contextlib.suppress(OSError):
            there.sendall(data)

    def _run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.stop_here:
                    return
                if key.fileobj is self.listener:
                    self._accept()
                elif key.fileobj.fileno() >= 0:  # not closed by its other end just now
                    self._pass_on(key.fileobj, *key.data)
