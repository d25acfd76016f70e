"""model - what the Redis scripts should do: test/served/rule.py, plus the data that they keep."""
import re

from lines import TTL, Session, Space  # which says where rule is
import rule
from rule import LINES, MANY, capacity, has_slots

NOTES = ("", "a note", "two\nlines 1 2\n", "\udcff\udc80")
HEAD = {"layout", "run", "epoch", "last", "ttl"}
MORE = {"grace", "watch_store", "history"}  # for a while
HISTORY = 60


class Place(rule.Place):
    def reclaimed(self):
        return self.id, self, self.kind, self.name, self.note


class Model(rule.Rule):
    HISTORY = [HISTORY]  # none: usually nothing is logged, and the fast paths are taken

    def __init__(self, path, rng):
        super().__init__(rng)
        self.space, self.top = Space(path), 0
        for _ in range(3):
            self.join()
        assert self.sessions[0].hello(history=self.HISTORY)[0] == 0
        self.number = self.newest()
        self.last, self.changes = int(self.space.fields()["last"]), 0

    # ---- Expectations

    def count(self, name):
        self.changes += 1

    def is_now(self, last):
        """Every change since the last call has raised it, and nothing else has."""
        rose, changes = last - self.last, self.changes
        self.last, self.changes = last, 0
        return rose >= changes if changes else rose == 0

    def expire(self, session, what):
        for owner in sorted(o for o, p in self.places.items() if p.session is session):
            self.part(self.places[owner], what)
        self.forget_session(session)

    def shown(self, reply, p):
        """Is this answer about a place of ours right?"""
        assert reply.code == 0, reply
        assert (reply.state, reply.weight, reply.slot) == (p.state, p.weight, p.slot), reply
        assert len(reply.seq) == 16 and p.seq in (None, reply.seq), reply
        p.seq, p.since = reply.seq, reply.since
        assert reply.ahead == self.ahead(p), (reply, p.__dict__)
        assert reply.asked == p.asked, reply
        assert reply.patience == 0 if p.state == "g" else 0 < reply.patience <= TTL, reply

    def check(self):
        told = [(sid, " ".join(text.split()[:3]) if text[0] == "g" else text)
                for sid, text in self.space.messages()]
        assert sorted(told) == sorted(self.expected), f"told {told}, should {self.expected}"
        self.expected = []
        self.check_history()
        fields, members = self.space.fields(), self.space.members()
        parts = {key.partition("\n")[::2] for key in fields if "\n" in key}
        assert self.is_now(int(fields["last"])), fields["last"]
        alive = {s.sid for s in self.sessions}
        for letter, should in (("s", alive), ("u", alive), ("t", {*self.places, *self.broken}),
                               ("l", {p.name for p in self.places.values()}),
                               ("w", {name for name, _ in self.watches})):
            there = {what for kind, what in parts if kind == letter}
            assert there == should, f"{letter}: {there}, should be {should}"
        assert {what for kind, what in parts if kind == "n"} <= alive
        assert {what for kind, what in parts if kind == "k"} <= {*self.places, *self.broken}
        assert {kind for kind, _ in parts} <= set("stlwnaku")
        assert {key for key in fields if "\n" not in key} - MORE == HEAD
        there = re.findall("([-+?])(\\w+):", fields.get("watch_store", ""))
        assert sorted(there) == sorted(("-+"[armed], sid) for sid, (_, armed) in
                                       self.store_watchers.items()), there
        assert self.store_watchers or self.space.changes not in self.space.keys()
        self.check_places(fields)
        should = ["o" + owner for owner in (*self.places, *self.broken)]
        should += [f"e{fields[key].split()[0]}{key[2:]}" for key in fields if key[:2] == "s\n"]
        should += [f"u{TTL:016}{sid}" for sid in alive]
        should += [f"w{name}\n{sid}" for name, sid in self.watches]
        should += [f"v{sid}\n{name}" for name, sid in self.watches]
        for p in self.places.values():
            letter = "h" if p.state == "g" else "q"
            should.append(f"{letter}{p.name}\n{p.seq} {p.weight} {p.owner}")
        there = [member for member in members if member[0] != "f"]
        assert sorted(there) == sorted(should), set(there) ^ set(should)

    def newest(self):
        """An entry of the history."""
        return self.sessions[0].history()[1] if self.HISTORY else 0

    def check_history(self):
        if not self.HISTORY:
            self.events = []
            return
        told, newest = self.sessions[0].history(after=self.number)
        assert newest == self.number + len(self.events), (newest, self.number, self.events)
        should = [(self.number + i + 1, what, seq, weight, slot, LINES[name], name, note, why)
                  for i, (what, name, seq, weight, slot, note, why) in enumerate(self.events)]
        assert told == should[-HISTORY:], (told, should)
        self.number, self.events = newest, []

    def check_places(self, fields):
        for p in self.places.values():
            words = fields["t\n" + p.owner].split(" ", 5)
            assert words[:4] == [p.state, p.seq, str(p.weight), str(p.slot)], (words, p.__dict__)
            assert words[5] == f"{p.kind} {p.name}\n{p.note}", words
            assert fields.get("a\n" + p.owner) == p.asked
        for name in {p.name for p in self.places.values()}:
            kind, used, waiting, slots, epoch = fields["l\n" + name].split()
            assert kind == LINES[name]
            if epoch != fields["epoch"]:
                continue  # not counted yet
            held = self.line(name, "g")
            assert int(used) == sum(p.weight for p in held) <= capacity(name), name
            assert int(waiting) == len(self.line(name, "w")), name
            free = {int(m[len(name) + 2:]) for m in self.space.members(f"f{name}\n")}
            taken = {p.slot for p in held} if has_slots(name) else set()
            assert not free & taken and free | taken == set(range(int(slots))), (free, taken)

    # ---- Steps

    def join(self):
        session = Session(self.space, f"{self.rng.getrandbits(64):016x}")
        reply = session.hello()
        assert reply[0] == 0 and reply[3] == 0, reply
        self.sessions.append(session)

    def enter(self):
        name, session = self.rng.choice(list(LINES)), self.someone()
        if len(self.line(name)) > 12:
            return
        claim = LINES[name] == "1c"
        only_free = claim or self.rng.random() < 0.2
        limit = self.rng.choice((0, 0, 3))
        self.ids += 1
        p = Place(session, self.ids, name, self.weight(name), self.rng.choice(NOTES))
        before = self.line(name)
        reply = session.enter(p.id, name, p.weight, p.kind, int(only_free), limit, p.note)
        fits = self.fits(name, p.weight)
        if not fits and only_free:
            assert reply[:3] == (0, "r", before[-1].seq if before else "0"), (reply, before)
            assert 0 < reply.patience <= TTL
            return
        if not fits and 0 < limit <= len(self.line(name, "w")):
            if not self.on_hold:  # else it may count fewer than there are
                assert reply.code == 5
                return
            if reply.code == 5:
                return
        p.seq = reply.seq
        assert int(reply.seq) > self.top, "tokens rise"
        self.top = int(reply.seq)
        self.places[p.owner] = p
        self.changed(name, p)
        if p.state == "w":
            self.event(p, "e")
        self.shown(reply, p)
        if self.rng.random() < 0.2:  # the answer was lost
            self.shown(session.enter(p.id, name, p.weight, p.kind, only_free, limit, p.note), p)

    def mismatch(self):
        if p := self.any_place():
            kind = "7" if p.kind != "7" else "1"
            reply = self.someone().enter(self.ids + 1, p.name, 1, kind)
            assert reply[:2] == (4, p.kind), reply

    def leave(self):
        if (p := self.any_place()) and (p.state == "g" or self.rng.random() < 0.5):
            self.part(p)
            for _ in range(self.rng.choice((1, 1, 2))):  # again: the answer was lost
                assert p.session.leave(p.id, p.name, p.kind == "1c") == [0, 0]
            assert p.kind != "1c" or not self.space.link.call("GET", self.space.claim(p.name))

    def read(self):
        if p := self.any_place():
            self.shown(p.session.read(p.id, p.name, p.kind == "1c"), p)
        else:
            assert self.someone().read(self.ids + 1, "m")[:2] == (0, "-")

    def downgrade(self):
        p = self.any_place()
        if p and p.weight > 1:
            weight = self.lesser(p)
            less = weight < p.weight
            p.weight = weight
            if less:
                self.event(p, "d")
                self.changed(p.name, p)
            self.shown(p.session.downgrade(p.id, p.name, weight), p)

    def break_(self):
        if p := self.any_place():
            self.part(p, "b")
            self.expected.append((p.session.sid, f"b {p.id}"))
            self.broken[p.owner] = p
            assert self.someone().anybody("break", p.name, p.seq) == [0]
            assert p.session.read(p.id, p.name, p.kind == "1c").state == "-"
            assert self.someone().anybody("break", p.name, p.seq) == [6]

    def leave_broken(self):
        if self.broken:
            p = self.broken[self.rng.choice(sorted(self.broken))]
            assert p.session.enter(p.id, p.name, p.weight, p.kind).state == "-"
            for _ in range(2):  # any number of times: its field goes with the session
                assert p.session.leave(p.id, p.name, p.kind == "1c") == [0, 1]

    def ask(self):
        if p := self.any_place():
            p.asked = f"why {self.rng.random()}"
            self.event(p, "a", p.asked)
            self.expected.append((p.session.sid, f"a {p.id}"))
            assert self.someone().anybody("ask", p.name, p.seq, p.asked) == [0]

    def verify(self):
        if p := self.any_place():
            should = [0] if p.state == "g" else [6]
            assert self.someone().anybody("verify", p.name, p.seq) == should
            assert self.someone().anybody("verify", p.name + "x", p.seq) == [6]

    def watch(self):
        name, session = self.rng.choice(list(LINES)), self.someone()
        way = self.rng.randrange(3)
        if way == 0:
            stale = self.rng.random() < 0.5
            reply = session.watch(name, self.last - stale)
        elif way == 1 and self.line(name):
            there = self.rng.choice(self.line(name)).seq
            stale = self.rng.random() < 0.5
            reply = session.watch(name, 0, "1" * 16 if stale else there)
        else:
            stale, reply = False, session.watch(name)
        if stale:
            assert reply == [0, 1], reply
        else:
            assert reply[:2] == [0, 0] and 0 < reply[2] <= TTL, reply
            self.watches.add((name, session.sid))

    def watch_store(self):
        session = self.someone()
        if session.sid not in self.store_watchers:
            session.stamp, names = session.watch_store(self.rng.choice((0, 0, self.last)))
            assert names is None
            self.store_watchers[session.sid] = [set(), False]
            return
        should, _ = self.store_watchers[session.sid]
        for _ in range(self.rng.choice((1, 1, 2))):  # again: the answer was lost
            stamp, names = session.watch_store(session.stamp)
            assert set(names) == should and len(names) == len(should), (names, should)
        self.store_watchers[session.sid] = [set(), not names]
        if names:
            session.stamp = stamp

    def watch_store_no_more(self):
        if self.store_watchers:
            sid = self.rng.choice(sorted(self.store_watchers))
            del self.store_watchers[sid]
            next(s for s in self.sessions if s.sid == sid).watch_store(0, 1)

    def list(self):
        name = self.rng.choice([*LINES, None])
        names = [name] if name else sorted(LINES, key=str.encode)
        reply = self.someone().list(name)
        should = [(p.state, p.seq) for state in "wg" for n in names for p in self.line(n, state)]
        assert reply[:4] == [0, self.last, 0, 0], reply
        assert [tuple(text.split()[:2]) for text in reply[4:]] == should, reply

    def diagnose(self):
        name = self.rng.choice(list(LINES))
        reply = self.someone().diagnose(name)
        places = self.places.values()
        assert reply[:4] == [0, len(self.sessions), sum(p.state == "g" for p in places),
                             sum(p.state == "w" for p in places)], reply
        assert reply[8:10] == [len(self.line(name, "g")), len(self.line(name, "w"))], reply
        assert int(reply[6]) >= self.top

    def claims_of(self, session):
        return [(p.id, p.name, p.seq) for p in self.places.values()
                if p.session is session and p.kind == "1c"]

    def renew(self):
        session = self.someone()
        reply = session.renew(*self.claims_of(session), (10**9, "no claim", "1" * 16))
        assert reply[0] == 0 and reply[6:] == [str(10**9)], reply
        assert 0 < reply[2] <= TTL

    def again(self):
        """On a new connection; calls of the old one are refused."""
        session = self.someone()
        reply = session.hello()
        assert reply[:4] == [0, session.epoch, 0, self.space.numbers.get(session.sid, 0)], reply
        for script, id, args in (("renew", None, [TTL]), ("leave", 1, ["m"]),
                                 ("enter", self.ids + 1, ["m", 1, "1", 0, "", ""])):
            assert session.call(script, *args, id=id, connection=session.connection - 1) == [3]

    def bye(self):
        session = self.someone()
        if len(self.sessions) > 2:
            self.end(session)

    def end(self, session):
        """By its owner, or by its session key."""
        claims, by_will = self.claims_of(session), self.rng.random() < 0.5
        self.expire(session, "x" if by_will else "r")
        if not by_will:
            assert session.bye(*(name for _, name, _ in claims)) == [0]
        else:
            assert session.end_by_key() == (2 if claims else 1)
            assert session.end_by_key() == 0 and session.renew() == [2]
        self.expected.append((session.sid, "e"))
        self.after_end([session], claims)

    def die(self):
        doomed = self.rng.sample(self.sessions, self.rng.randint(1, min(3, len(self.sessions))))
        claims = [claim for session in doomed for claim in self.claims_of(session)]
        self.space.kill(*doomed)
        for session in doomed:
            assert session.read(1, "m") == (2, *[None] * 8)
            assert session.renew() == [2] and session.leave(self.ids + 1, "m") == [2]
        for _, name, _ in claims:  # its key expires at the same time
            self.space.link.call("DEL", self.space.claim(name))
        if self.rng.random() < 0.2:
            doomed.insert(0, doomed.pop())
            assert doomed[0].hello() == [2]
        for session in doomed:
            self.expire(session, "x")
        self.join()  # and that notices
        while len(self.sessions) < 3:
            self.join()
        self.after_end(doomed, [])

    def after_end(self, ended, claims):
        self.check()
        for session in ended:
            self.space.numbers.pop(session.sid, None)
        for _, name, _ in claims:
            assert self.space.link.call("GET", self.space.claim(name)) is None

    STEPS = {"enter": 40, "leave": 22, "read": 10, "downgrade": 6, "break_": 3, "leave_broken": 3,
             "ask": 2, "verify": 2, "watch": 5, "list": 2, "diagnose": 1, "renew": 3, "again": 2,
             "mismatch": 1, "bye": 1, "die": 2, "join": 1, "watch_store": 8, "watch_store_no_more": 1}

    def finish(self):
        """All leave; no data stay."""
        while len(self.sessions) > 1:
            self.end(self.sessions[-1])
        assert self.sessions[0].hello(history=[0])[0] == 0
        claims = self.claims_of(self.sessions[0])
        assert self.sessions[0].bye(*(name for _, name, _ in claims)) == [0]
        assert set(self.space.fields()) <= {*HEAD, "grace"}, self.space.fields()
        assert set(self.space.keys()) <= {self.space.state}, self.space.keys()
        assert self.space.members() == [], self.space.members()
