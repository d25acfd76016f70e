"""mywire - a minimal client of MariaDB and MySQL for tests.

    with mywire.Link("/tmp/socket", user="root", database="test") as link:
        link.run("SELECT 41 + 1, x'ff'")            -> [(42, b"\\xff")], rows of all results
        link.call("CALL enter(?, ?)", 7, "name")    numbers, texts, bytes or None for each "?"
        link.send("SELECT SLEEP(1)")                and later, maybe:
        link.done(0.1), link.result()
        link.thread                                 the server's number of this connection

Numbers are int, texts str, binary strings bytes.  mywire.Error has the server's number of the
error in `code`, 0 if there was no answer.
"""
import contextlib
import hashlib
import select
import socket

PROTOCOL_41, SECURE, PLUGIN, DATABASE, MULTI = 0x200, 0x8000, 0x80000, 8, 0x30000 | 0x2001
NUMBERS, BINARY, MORE_RESULTS = {1, 2, 3, 8, 9, 13}, 63, 8


class Error(Exception):
    def __init__(self, text, code=0):
        super().__init__(f"{code} {text}" if code else text)
        self.code = code


def number(data, at):
    """A length-encoded number, and where it ends; None is NULL."""
    size = {0xfb: 0, 0xfc: 2, 0xfd: 3, 0xfe: 8}.get(data[at])
    if size is None:
        return data[at], at + 1
    return (int.from_bytes(data[at + 1:at + 1 + size], "little") if size else None), at + 1 + size


def fields(packet, count):
    at = 0
    for _ in range(count):
        size, at = number(packet, at)
        yield None if size is None else packet[at:at + size]
        at += size or 0


def native_proof(password, challenge):
    if not password:
        return b""
    once = hashlib.sha1(password.encode()).digest()
    other = hashlib.sha1(challenge + hashlib.sha1(once).digest()).digest()
    return bytes(a ^ b for a, b in zip(once, other))


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, (bool, int)):
        return str(int(value))
    return "x'" + (value if isinstance(value, bytes) else value.encode()).hex() + "'"


class Link:
    """`at`: the path of a Unix socket, or (host, port)."""

    def __init__(self, at, user="root", password="", database="", limit=60):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(at, str) else socket.AF_INET)
        self.socket.settimeout(limit)
        try:
            self.socket.connect(at)
            self.input = self.socket.makefile("rb")
            self._log_in(user, password, database)
        except OSError as error:
            self.socket.close()
            raise Error(str(error)) from None
        except Error:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.sendall(b"\1\0\0\0\1")  # COM_QUIT
        self.input.close()
        self.socket.close()

    def _read(self):
        try:
            head = self.input.read(4)
            packet = self.input.read(int.from_bytes(head[:3], "little"))
        except OSError as error:
            raise Error(str(error)) from None
        if len(head) < 4 or not packet:
            raise Error("the server closed the connection")
        self.next = head[3] + 1
        if packet[0] == 0xff:
            text = packet[9:] if packet[3:4] == b"#" else packet[3:]
            raise Error(text.decode(errors="replace"), int.from_bytes(packet[1:3], "little"))
        return packet

    def _write(self, packet):
        head = len(packet).to_bytes(3, "little") + bytes([self.next])
        try:
            self.socket.sendall(head + packet)
        except OSError as error:
            raise Error(str(error)) from None

    def _log_in(self, user, password, database):
        hello = self._read()
        end = hello.index(b"\0", 1)
        self.version = hello[1:end].decode()
        self.thread = int.from_bytes(hello[end + 1:end + 5], "little")
        challenge = hello[end + 5:end + 13] + hello[end + 32:end + 44]
        proof = native_proof(password, challenge)
        flags = PROTOCOL_41 | SECURE | PLUGIN | MULTI | (DATABASE if database else 0)
        self._write(flags.to_bytes(4, "little") + (1 << 24).to_bytes(4, "little") + b"\x2d" +
                    bytes(23) + user.encode() + b"\0" + bytes([len(proof)]) + proof +
                    (database.encode() + b"\0" if database else b"") + b"mysql_native_password\0")
        packet = self._read()
        if packet[0] == 0xfe:
            name, _, challenge = packet[1:].partition(b"\0")
            if name != b"mysql_native_password":
                raise Error(f"the server wants {name.decode()}")
            self._write(native_proof(password, challenge[:20]))
            self._read()

    def send(self, text):
        self.next = 0
        self._write(b"\3" + text.encode("utf-8", "surrogateescape"))

    def done(self, seconds=0):
        """Is there an answer?"""
        return bool(select.select([self.socket], [], [], seconds)[0])

    def result(self):
        """Rows of all results."""
        rows, status = [], MORE_RESULTS
        while status & MORE_RESULTS:
            packet = self._read()
            if packet[0] == 0:
                at = number(packet, number(packet, 1)[1])[1]
                status = int.from_bytes(packet[at:at + 2], "little")
                continue
            convert = [self._column() for _ in range(number(packet, 0)[0])]
            self._read()
            while not ((packet := self._read())[0] == 0xfe and len(packet) < 9):
                rows.append(tuple(field if field is None else to(field)
                                  for to, field in zip(convert, fields(packet, len(convert)))))
            status = int.from_bytes(packet[3:5], "little")
        return rows

    def _column(self):
        packet = self._read()
        at = 0
        for _ in range(6):  # catalog, database, and the names
            size, at = number(packet, at)
            at += size
        charset, kind = int.from_bytes(packet[at + 1:at + 3], "little"), packet[at + 7]
        if kind in NUMBERS:
            return int
        text = charset != BINARY or kind in (0, 4, 5, 246)  # a number with a fraction
        return (lambda field: field.decode("utf-8", "surrogateescape")) if text else bytes

    def run(self, text):
        self.send(text)
        return self.result()

    def call(self, text, *values):
        parts = text.split("?")
        assert len(parts) == len(values) + 1
        return self.run("".join(part + literal(value) for part, value in zip(parts, values)) + parts[-1])
