"""lines - the scripts of the Redis store, called as its C code calls them.

    space = Space(server.path)
    a = space.session()
    a.enter(1, "name")        # a Reply: code, and the fields of enter.lua's answer
    space.messages()          # published since: [(session, text)]
"""
import collections
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "test/server"), str(ROOT / "test/served")]
import resp  # noqa: E402
from rule import MANY  # noqa: E402

SCRIPTS = ROOT / "src/store/redis/scripts"
LAYOUT = 3
TTL = 30_000_000  # microseconds; nothing here waits for it

LAST = 1 << 52  # connection number with a session key
SOON = 100_000  # lease left after a bye that is not repeated
NAMES = ("hello", "reclaim", "renew", "bye", "enter", "leave", "read", "downgrade", "watch", "break",
         "ask", "verify", "list", "diagnose", "watch_store", "history")

class Reply(collections.namedtuple(
        "Reply", "code state seq slot since weight ahead asked patience", defaults=[None] * 8)):
    """How a place stands: the answer of show() in line.lua."""
    def of(self, *names):
        return tuple(getattr(self, name) for name in names)


def source(name):
    """A script, put together as in src/store/redis/scripts/script.c."""
    between = {"hello": "server", "renew": "server",
               "break": "anybody", "ask": "anybody", "verify": "anybody"}.get(name, "")
    quick = ["quick"] if name in ("enter", "leave") else []
    files = [SCRIPTS / f"{part}.lua" for part in
             (f"{name}_quick", "changes", *quick, "base", "line", between, name)]
    return "\n".join(file.read_text() for file in files if file.exists())


def claim_value(owner, seq):
    """The value of a claim's key."""
    return f"holdfast:{owner}:{seq}"


def secret(sid, id):
    """The grant secret of a place."""
    return f"{int(sid, 16) ^ int(id):016x}"


class Space:
    """A namespace of its own on a server."""
    count = 0

    def __init__(self, path, source=source):
        Space.count += 1
        self.prefix = f"{{test{Space.count}}}"
        self.state, self.order = f"{self.prefix}:state", f"{self.prefix}:order"
        self.changes, self.history_key = f"{self.prefix}:changes", f"{self.prefix}:history"
        self.link, self.subscriber = resp.Client(path), resp.Client(path)
        self.subscriber.subscribe(f"{self.prefix}:wake:*", pattern=True)
        self.marks, self.numbers = 0, {}
        self.sha = {name: self.link.call("SCRIPT", "LOAD", source(name)) for name in NAMES}

    def session(self, **more):
        session = Session(self)
        assert session.hello(**more)[0] == 0
        return session

    def claim(self, name):
        return f"{self.prefix}:claim:{name}"

    def messages(self, numbered=True):
        """All messages published since the last call, and none that come later.
        They are numbered without gaps, unless data were lost meanwhile."""
        self.marks += 1
        self.link.call("PUBLISH", f"{self.prefix}:wake:mark", self.marks)
        ret = []
        while True:
            push = self.subscriber.push(10.0)
            assert push is not None, "a message is missing"
            sid, text = push[2].rpartition(":")[2], push[3]
            if sid == "mark":
                assert int(text) == self.marks
                return ret
            number, text = text.split(" ", 1)
            if text == "e":  # the last message, which is not numbered
                assert number == "0"
                ret.append((sid, text))
                continue
            if text[0] == "g":
                assert text.split()[4:] == [secret(sid, text.split()[1])], push
            assert not numbered or int(number) == self.numbers.get(sid, 0) + 1, f"a gap: {push}"
            self.numbers[sid] = int(number)
            ret.append((sid, text))

    def fields(self, letter=""):
        """Fields of the hash; with a letter: {name or id: value} of that kind."""
        flat = self.link.call("HGETALL", self.state)
        all = dict(zip(flat[::2], flat[1::2]))
        return {k[2:]: v for k, v in all.items() if k[:2] == f"{letter}\n"} if letter else all

    def members(self, letter=""):
        return [text for text in self.link.call("ZRANGE", self.order, 0, -1)
                if text.startswith(letter)]

    def now(self):
        seconds, micros = self.link.call("TIME")
        return int(seconds) * 1000000 + int(micros)

    def kill(self, *sessions):
        """Let their leases expire, in this order; no client has noticed yet."""
        for i, session in enumerate(sessions):
            end, connection = self.link.call("HGET", self.state, "s\n" + session.sid).split()
            past = f"{self.now() - 1000 + i:016}"
            self.link.call("ZREM", self.order, f"e{end}{session.sid}")
            self.link.call("ZADD", self.order, 0, f"e{past}{session.sid}")
            self.link.call("HSET", self.state, "s\n" + session.sid, f"{past} {connection}")

    def keys(self):
        return self.link.call("KEYS", self.prefix + "*")

    def keep(self):
        """A copy of all data, for lose()."""
        return {key: self.link.call("DUMP", key) for key in self.keys()}

    def lose(self, kept=()):
        """Another server takes over, which has only these data."""
        for key in self.keys():
            self.link.call("DEL", key)
        for key in kept:
            self.link.call("RESTORE", key, TTL // 1000 if ":claim:" in key else 0, kept[key])
        if "run" in self.fields():
            self.link.call("HSET", self.state, "run", f"{0:040}:{0:040}")

    def end_grace(self):
        end, length = self.fields()["grace"].split()
        assert int(end) > self.now(), "there was no grace period"
        self.link.call("HSET", self.state, "grace", f"{self.now() - 1} {length}")

    def holders(self, name):
        """Owners of granted places, by the hash."""
        return sorted(owner for owner, text in self.fields("t").items() if text.startswith("g")
                      and text.split("\n")[0].endswith(f" {name}"))


class Session:
    def __init__(self, space, sid=None):
        self.space, self.connection, self.epoch, self.token = space, 0, "0", 0
        self.short, self.longest = True, 0
        self.sid = sid or f"{random.getrandbits(64):016x}"

    def command(self, script, *args, id=None, keys=(), connection=None):
        """`id`: of the place, if the call is about one.  The keys of the change log and of history are
        named where they are always needed, or once a script asks for them; else the first two keys
        stand in for them."""
        there = self.space
        log = [there.changes, there.history_key]
        if self.short and script not in ("watch_store", "history"):
            log = [there.state, there.order] if keys else []
        keys = [there.state, there.order, *log, *keys]
        who = self.sid if id is None else f"{self.sid}:{id}"
        return ("EVALSHA", self.space.sha[script], len(keys), *keys, self.epoch, who,
                self.connection if connection is None else connection, *args)

    def call(self, *args, **more):
        ret = self.space.link.call(*self.command(*args, **more))
        if ret == [8]:
            assert self.short, "no keys were missing"
            self.short = False
            ret = self.call(*args, **more)
            self.short = True
        return ret

    def hello(self, ttl=TTL, longest=None, grace=0, connection=None, history=(), read_only=False,
              config_epoch=""):
        """On a new connection.  `history`: its length, and 1 if that counts only after lost data.
        `grace`: how long the grace period has to be, say the canaries, if they are looked for; None:
        do not look."""
        self.connection = connection or self.connection + 1
        self.short = not history
        for says in ("", grace):
            ret = self.call("hello", ttl, self.longest if longest is None else longest, says, self.token,
                            *[*history, "", 0][:2], int(read_only), config_epoch)
            if ret[0] == 0:
                self.epoch = ret[1]
            if ret[0] != 0 or not ret[7]:
                self.longest = ret[4] if ret[0] == 0 else self.longest
                break
            if read_only or grace is None:
                break
        self.short = True
        return ret

    def _place(self, *args, **more):
        return self.parsed(self.call(*args, **more))

    def parsed(self, ret):
        """An answer about a place."""
        if isinstance(ret, list):
            ret = Reply(*ret)
        elif ret[0] == "w":  # from enter_quick.lua
            _, seq, ahead, patience = ret.split()
            ret = Reply(0, "w", seq, -1, seq, 1, int(ahead), None, int(patience))
        else:
            ret = Reply(0, "g", ret, -1, ret)
        if ret.state in ("g", "w"):
            self.token = max(self.token, int(ret.seq))
        return ret

    @staticmethod
    def shape(weight, kind, limit=0):
        """Arguments of ENTER: none for a mutex."""
        return [] if (weight, kind, limit) == (1, "1", 0) else [weight, kind, limit]

    def to_enter(self, id, name, weight=1, kind="1", only_free=0, limit=0, note=""):
        """Arguments of call() and of command()."""
        keys = [self.space.claim(name)] if kind == "1c" else []
        shape = self.shape(weight, kind, -1 if only_free else limit)
        return ("enter", name, *shape, note, secret(self.sid, id)), {"id": id, "keys": keys}

    def enter(self, id, name, weight=1, *args, **more):
        words, names = self.to_enter(id, name, weight, *args, **more)
        ret = self._place(*words, **names)
        if ret.state == "g" and ret.weight is None:  # an empty line
            ret = ret._replace(weight=weight, ahead=0, patience=0)
        return ret

    def enter_many(self, ids, name, weight, kind):
        done = self.space.link.calls(*(
            self.command("enter", name, *self.shape(weight, kind), "", secret(self.sid, id), id=id)
            for id in ids))
        assert all(isinstance(reply, str) or reply[0] == 0 for reply in done), done

    def leave_many(self, ids, name):
        done = self.space.link.calls(*(self.command("leave", name, id=id) for id in ids))
        assert all(reply in (0, [0, 0]) for reply in done), done

    def take(self, id, name, **more):
        """Claim it."""
        return self.enter(id, name, 1, "1c", 1, **more)

    def read(self, id, name, claim=False):
        return self._place("read", name, 0, id=id, keys=[self.space.claim(name)] if claim else [])

    def downgrade(self, id, name, weight):
        return self._place("downgrade", name, weight, id=id)

    def leave(self, id, name, claim=False):
        ret = self.call("leave", name, id=id, keys=[self.space.claim(name)] if claim else [])
        return [0, 0] if ret == 0 else ret

    def watch(self, name, last=None, seq=0):
        """By default, for changes from now on."""
        last = self.space.fields()["last"] if last is None else last
        return self.call("watch", name, last, seq, keys=[self.space.claim(name)])

    def anybody(self, verb, name, seq, why=""):
        """break, ask or verify."""
        more = [why] if verb == "ask" else []
        return self.call(verb, name, seq, *more, keys=[self.space.claim(name)])

    def list(self, name=None):
        """{ 0, last, foreign, grace period left, place ... }"""
        ret, end = [], ""
        while end or not ret:
            reply = self.call("list", name or "", end,
                              keys=[self.space.claim(name)] if name else [])
            if reply[0] != 0:
                return reply
            ret = ret or [0, int(reply[1]), *reply[2:4]]
            ret += reply[5:]
            end = reply[4]
        return ret

    def diagnose(self, *name):
        return self.call("diagnose", *name, keys=[self.space.claim(n) for n in name])

    def watch_store(self, stamp=0, end=0):
        """`last`, and the lines that changed since `stamp`; None: any may have."""
        ret = self.call("watch_store", stamp, end)
        assert ret[0] == 0, ret
        return int(ret[1]), None if ret[3] else ret[4:]

    def history(self, name="", after=0):
        """[(number, what, seq, weight, slot, kind, name, note, why)], and the newest number."""
        newest, ret = None, []
        while newest is None or after < newest:
            reply = self.call("history", name, after)
            if reply == [6]:
                return None
            assert reply[0] == 0, reply
            newest, after = newest or int(reply[1]), int(reply[2])
            for number, text in zip(reply[3::2], reply[4::2]):
                text, _, why = text.partition("\0")
                head, _, note = text.partition("\n")
                what, seq, weight, slot, _, kind, name_there = head.split(" ", 6)
                ret.append((int(number), what, seq, int(weight), int(slot), kind, name_there,
                            note, why))
        return ret, newest

    def renew(self, *claims, ttl=TTL):
        """`claims`: (id, name, seq)"""
        args = [arg for id, _, seq in claims for arg in (id, seq)]
        return self.call("renew", ttl, *args, keys=[self.space.claim(c[1]) for c in claims])

    def bye(self, *claims):
        """`claims`: their names"""
        soon = [] if self.connection == LAST else [SOON]
        return self.call("bye", *soon, keys=[self.space.claim(name) for name in claims])

    def by_key(self):
        """A client with the session key: it knows only the sid."""
        ret = Session(self.space, self.sid)
        ret.epoch = "-"
        return ret

    def end_by_key(self, before_each=lambda: None):
        """End it by its session key.  Returns how often bye succeeded; 0: there is no such
        session."""
        other, reply, count = self.by_key(), [0, 1], 0
        if other.hello(connection=LAST) == [2]:
            return 0
        while reply != [0]:
            before_each()
            reply = other.bye(*reply[2:])
            if reply == [2]:
                break
            assert reply[:1] == [0] and (len(reply) == 1 or reply[1] == 1), reply
            count += 1
        return count

    def come_back(self, *places):
        """Say hello and reclaim, as a client does.  Returns the answer of reclaim()."""
        for _ in range(3):
            assert self.hello(grace=TTL)[0] == 0
            ret = self.reclaim(*places)
            if ret != [1]:  # data were lost again
                break
        return ret

    def reclaim(self, *places, after="", up_to=""):
        """`places`: (id, Reply or the like, kind, name, note)"""
        args, keys = [after, up_to], []
        for id, place, kind, name, note in places:
            args += [id, place.state, place.seq, place.weight, place.slot, place.since, kind,
                     name, note, secret(self.sid, id)]
            if kind == "1c" and place.state == "g":
                keys.append(self.space.claim(name))
        return self.call("reclaim", *args, keys=keys)
