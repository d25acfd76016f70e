"""pq - a minimal client of PostgreSQL for tests: libpq through ctypes.

    with pq.Link("host=/tmp/socket user=postgres dbname=test") as link:
        link.call("SELECT $1::bigint + 1", 41)      -> [(42,)]
        link.run("BEGIN; CREATE TABLE t ()")        several commands, without arguments
        link.send("SELECT pg_sleep(1)")             and later, maybe:
        link.done(0.1), link.result()
        link.messages()                             -> [(channel, text)] of NOTIFY

pq.Error has the SQLSTATE in `code`, "" if there was no answer.
"""
import ctypes
import ctypes.util
import select
import time

CONVERT = {16: lambda text: text == "t", 20: int, 21: int, 23: int, 26: int}
OK, TUPLES, FAILED = 1, 2, (5, 7)


class Missing(Exception):
    """There is no libpq."""


class Error(Exception):
    def __init__(self, text, code=""):
        super().__init__(f"{code} {text.strip()}".strip())
        self.code = code


class Notify(ctypes.Structure):
    _fields_ = [("channel", ctypes.c_char_p), ("pid", ctypes.c_int), ("text", ctypes.c_char_p)]


def load():
    name = ctypes.util.find_library("pq")
    if name is None:
        raise Missing("no libpq here")
    lib = ctypes.CDLL(name)
    pointer, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    for function, result, *args in (
            ("PQconnectdb", pointer, text), ("PQfinish", None, pointer),
            ("PQstatus", number, pointer), ("PQerrorMessage", text, pointer),
            ("PQsetNoticeProcessor", pointer, pointer, pointer, pointer),
            ("PQsocket", number, pointer), ("PQbackendPID", number, pointer),
            ("PQsendQuery", number, pointer, text),
            ("PQsendQueryParams", number, pointer, text, number, pointer, pointer, pointer,
             pointer, number),
            ("PQgetResult", pointer, pointer), ("PQconsumeInput", number, pointer),
            ("PQisBusy", number, pointer), ("PQnotifies", ctypes.POINTER(Notify), pointer),
            ("PQfreemem", None, pointer), ("PQclear", None, pointer),
            ("PQresultStatus", number, pointer), ("PQresultErrorMessage", text, pointer),
            ("PQresultErrorField", text, pointer, number), ("PQntuples", number, pointer),
            ("PQnfields", number, pointer), ("PQftype", ctypes.c_uint, pointer, number),
            ("PQgetisnull", number, pointer, number, number),
            ("PQgetvalue", text, pointer, number, number)):
        found = getattr(lib, function)
        found.restype, found.argtypes = result, args
    return lib


LIB = None
QUIET = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(lambda *_: None)


def word(value):
    """An argument as text for the server."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        value = "{" + ",".join(map(str, value)) + "}"
    elif isinstance(value, bool):
        value = "t" if value else "f"
    return str(value).encode("utf-8", "surrogateescape")


class Link:
    def __init__(self, conninfo):
        global LIB
        LIB = LIB or load()
        self.link = LIB.PQconnectdb(conninfo.encode())
        if LIB.PQstatus(self.link) != 0:
            text = LIB.PQerrorMessage(self.link).decode(errors="replace")
            self.close()
            raise Error(text)
        LIB.PQsetNoticeProcessor(self.link, ctypes.cast(QUIET, ctypes.c_void_p), None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.link is not None:
            LIB.PQfinish(self.link)
            self.link = None

    @property
    def pid(self):
        return LIB.PQbackendPID(self.link)

    def fileno(self):
        return LIB.PQsocket(self.link)

    # ---- Queries

    def send(self, sql, *args):
        words = (ctypes.c_char_p * len(args))(*map(word, args))
        if not LIB.PQsendQueryParams(self.link, sql.encode(), len(args), None, words, None, None, 0):
            raise Error(LIB.PQerrorMessage(self.link).decode(errors="replace"))

    def done(self, limit=0.0):
        """Does the answer come within that many seconds?"""
        end = time.monotonic() + limit
        while LIB.PQconsumeInput(self.link) and LIB.PQisBusy(self.link):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self], [], [], left)[0]:
                return False
        return True

    def result(self):
        """Wait for the answer; returns the rows of the last command."""
        rows, error = [], None
        while result := LIB.PQgetResult(self.link):
            status = LIB.PQresultStatus(result)
            if status == TUPLES:
                rows = list(self._rows(result))
            elif status in FAILED:
                code = LIB.PQresultErrorField(result, ord("C")) or b""
                error = Error(LIB.PQresultErrorMessage(result).decode(errors="replace"),
                              code.decode())
            LIB.PQclear(result)
        if error:
            raise error
        return rows

    @staticmethod
    def _rows(result):
        columns = range(LIB.PQnfields(result))
        convert = [CONVERT.get(LIB.PQftype(result, i), str) for i in columns]
        for row in range(LIB.PQntuples(result)):
            yield tuple(
                None if LIB.PQgetisnull(result, row, i) else
                convert[i](LIB.PQgetvalue(result, row, i).decode("utf-8", "surrogateescape"))
                for i in columns)

    def call(self, sql, *args):
        self.send(sql, *args)
        return self.result()

    def send_script(self, sql):
        if not LIB.PQsendQuery(self.link, sql.encode()):
            raise Error(LIB.PQerrorMessage(self.link).decode(errors="replace"))

    def run(self, sql):
        self.send_script(sql)
        return self.result()

    def messages(self):
        """The notifications that have come so far."""
        LIB.PQconsumeInput(self.link)
        ret = []
        while told := LIB.PQnotifies(self.link):
            ret.append((told.contents.channel.decode(), told.contents.text.decode()))
            LIB.PQfreemem(told)
        return ret
