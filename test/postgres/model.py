"""model - the functions of the PostgreSQL store as a model: test/served/rule.py, and the rows that
they should write."""
from calls import SECRET, TTL, VERSION, Session, Space  # which says where rule is
from rule import LINES, Place, Rule, capacity, is_claim

NOTES = ("", "a note", "two\nlines 1 2\n", "\u20ac")
HISTORY = 60


class Model(Rule):
    TELLS_ONCE = False
    LOG = 2  # history

    def __init__(self, server, rng):
        super().__init__(rng)
        self.space = Space(server, links=3)
        self.stamps = {}  # of lines that exist
        self.top = {}  # the highest token of a line
        self.renewals = {}
        self.sent = {}  # messages about each place
        for _ in range(3):
            self.join()
        if self.LOG:
            self.sessions[0].keep_history(HISTORY)
            self.number = self.sessions[0].history()[1]

    # ---- The expected state

    def count(self, name):
        self.stamps[name] += 1

    def expire(self, *sessions, what="x"):
        """All places of a session leave a line at once."""
        sids = [session.sid for session in sessions]
        self.watches = {w for w in self.watches if w[1] not in sids}
        for sid in sids:
            self.store_watchers.pop(sid, None)
        mine = [p for p in self.places.values() if p.session in sessions]
        for p in mine:
            self.event(p, what if p.state == "g" else "l")
            del self.places[p.owner]
        for name in sorted({p.name for p in mine}):
            self.changed(name)
        for session in sessions:
            self.forget_session(session)

    def made(self, name):
        """A line may have been inserted."""
        if name not in self.stamps:
            rows = self.space.link.call("SELECT changes FROM holdfast.line WHERE name = $1", name)
            assert len(rows) == 1 and rows[0][0] > 10**15, rows
            self.stamps[name] = rows[0][0]

    def shown(self, reply, p):
        """Check an answer about a place."""
        assert reply.code == 0, reply
        assert (reply.state, reply.weight, reply.slot) == (p.state, p.weight, p.slot), reply
        assert p.seq in (None, reply.seq) and reply.seq > 10**15 and reply.since > 10**15, reply
        assert reply.ahead == self.ahead(p), (reply, p.__dict__)
        assert reply.asked == p.asked, reply

    def check(self):
        heard = [(sid, self.meaning(sid, text)) for sid, text in self.space.messages()]
        rung = {sid for sid, text in heard if text == "s"}  # may be sent more than once
        assert rung == {sid for sid, text in self.expected if text == "s"}, heard
        heard = [(sid, text) for sid, text in heard if text != "s"]
        self.expected = [(sid, text) for sid, text in self.expected if text != "s"]
        assert sorted(heard) == sorted(self.expected), f"heard {heard}, expected {self.expected}"
        self.check_history()
        for sid, text in self.expected:  # a client that polls sees the number of messages
            if text[0] not in "ce":
                owner = f"{sid}:{text.split()[1]}"
                self.sent[owner] = self.sent.get(owner, 0) + 1
        self.expected = []
        there = self.space.everything()
        alive = {s.sid: s.connection for s in self.sessions}
        assert {row["sid"]: row["connection"] for row in there["session"]} == alive
        assert {row["sid"]: row["renewal"] for row in there["session"]} == self.renewals
        assert {(row["name"], row["sid"]) for row in there["watch"]} == self.watches
        assert {row["sid"] for row in there["store_watcher"]} == set(self.store_watchers)
        assert {row["log"] for row in there["session"]} <= {there["change_log"][0]["log"]}
        assert there["change_log"][0]["log"] in (self.LOG + 1, self.LOG + bool(self.store_watchers))
        self.check_places([*there["every_place"], *[row for row in there["place"] if row["state"] == "b"]],
                          {f"{row['sid']}:{row['id']}": row["messages"] for row in there["place"]})
        self.check_lines(there["line"])
        self.check_biased(there)
        assert len(there["head"]) == 1

    def check_history(self):
        """The entries of each line are in order, and the numbers have no gaps."""
        if not self.LOG:
            self.events = []
        if not self.sessions or not self.LOG:
            return
        entries, newest = self.sessions[0].history(after=self.number)
        assert newest == self.number + len(self.events), (newest, self.number, entries, self.events)
        last = range(max(self.number, newest - HISTORY) + 1, newest + 1)
        assert [entry[0] for entry in entries] == list(last), (entries, last)
        should = [(what, name, seq, weight, capacity(name), is_claim(name), slot, note, why or None)
                  for what, name, seq, weight, slot, note, why in self.events]
        entries = [tuple(entry[1:]) for entry in entries]
        for name in LINES if len(should) <= HISTORY else ():
            there, ends = self.story(entries, name), self.story(should, name)
            assert there == ends, (there, ends)
        self.number, self.events = newest, []

    @staticmethod
    def story(entries, name):
        """Without slots, and sorted: several places may leave in any order."""
        own = [entry[:6] + entry[7:] for entry in entries if entry[1] == name]
        return sorted(own, key=str)

    def meaning(self, sid, text):
        """"g" grants by itself, with the grant secret and without a slot.  "n" only makes the owner
        read its place, so it may mean any grant."""
        if text[0] == "g":
            assert text.endswith(f" {SECRET}") and text.split()[2] == "-1", text
            return " ".join(text.split()[:3])
        grants = [t for s, t in self.expected if s == sid and t.startswith(f"g {text[2:]} ")]
        return grants[0] if text[0] == "n" and grants else text

    def check_places(self, rows, messages):
        rows = {f"{row['sid']}:{row['id']}": row for row in rows}
        assert set(rows) == {*self.places, *self.broken}, rows
        for owner, row in rows.items():
            assert messages.get(owner, 0) >= self.sent.get(owner, 0), (row, self.sent)
        for p in self.places.values():
            row = rows[p.owner]
            there = [row[key] for key in ("name", "seq", "weight", "claim", "state", "slot",
                                          "asked", "note")]
            assert there == [p.name, p.seq, p.weight, is_claim(p.name), p.state, p.slot, p.asked,
                             p.note], (row, p.__dict__)
        for p in self.broken.values():
            assert rows[p.owner]["state"] == "b", rows[p.owner]

    def check_lines(self, rows):
        assert {row["name"]: row["changes"] for row in rows} == self.stamps, rows
        for row in rows:
            name = row["name"]
            held, waiting = self.line(name, "g"), self.line(name, "w")
            counts = row["used"], row["holders"], row["waiting"]
            assert counts == (sum(p.weight for p in held), len(held), len(waiting)), (row, held)
            assert row["used"] <= capacity(name), row
            assert row["last"] >= self.top.get(name, 0), row
            if held or waiting:
                assert (row["capacity"], row["claim"]) == (capacity(name), is_claim(name)), row
            assert row["watched"] or not any(w[0] == name for w in self.watches), row

    def check_biased(self, there):
        """A biased line has no holder but the one in its row, and its session can find it."""
        bias = {(row["name"], row["sid"]) for row in there["bias"]}
        for row in there["line"]:
            assert row["connection"] is not None or row["id"] is None, row
            if row["connection"] is not None:
                assert (row["holders"], row["waiting"], row["watched"]) == (row["id"] is not None, 0, False), row
                assert (row["name"], row["sid"]) in bias and there["change_log"][0]["log"] == 0, row
                assert [s.connection for s in self.sessions if s.sid == row["sid"]] == [row["connection"]], row
        assert {sid for _, sid in bias} <= {s.sid for s in self.sessions}, bias

    # ---- Steps

    def renewed(self, session):
        row = self.space.link.call("SELECT renewal FROM holdfast.session WHERE sid = $1",
                                   session.sid)
        assert row[0][0] > max(self.renewals.values(), default=0), (row, self.renewals)
        self.renewals[session.sid] = row[0][0]

    def join(self):
        session = Session(self.space, f"{self.rng.getrandbits(64):016x}")
        reply = session.hello()
        assert reply[:2] == (0, VERSION) and reply[2] in [link.pid for link in self.space.links], reply
        if self.rng.random() < 0.2:  # the answer was lost
            assert session.hello(connection=1, fresh=True)[0] == 0
        self.sessions.append(session)
        self.renewed(session)

    def enter(self):
        name, session = self.rng.choice(list(LINES)), self.someone()
        if len(self.line(name)) > 12:
            return
        claim = is_claim(name)
        only_free = claim or self.rng.random() < 0.2
        limit = self.rng.choice((0, 0, 1, 2))
        self.ids += 1
        p = Place(session, self.ids, name, self.weight(name), self.rng.choice(NOTES))
        before = self.line(name)
        args = p.id, name, p.weight, capacity(name), claim, only_free, limit, p.note
        self.maybe_make(name)
        reply = session.enter(*args)
        if not self.fits(name, p.weight) and only_free:
            assert reply.code == 0 and reply.state == "r" and reply.seq == before[-1].seq, reply
        elif not self.fits(name, p.weight) and 0 < limit <= len(self.line(name, "w")):
            assert reply.code == 5, reply
        else:
            assert reply.seq > self.top.get(name, 0), "tokens rise"
            p.seq = self.top[name] = reply.seq
            self.places[p.owner] = p
            self.changed(name, p)
            if p.state == "w":
                self.event(p, "e")
            self.shown(reply, p)
            if self.rng.random() < 0.2:  # the answer was lost
                self.shown(session.enter(*args), p)

    def maybe_make(self, name):
        """A line's first stamp is known only once its row exists."""
        if name not in self.stamps:
            session = self.sessions[0]
            assert session.watch(name) == (0, False)
            self.watches.add((name, session.sid))
            self.made(name)

    def mismatch(self):
        if p := self.any_place():
            size = capacity(p.name)
            for other, claim in ((size + 1 if size == 1 else size - 1, is_claim(p.name)),
                                 (size, not is_claim(p.name))):
                reply = self.someone().enter(self.ids + 1, p.name, 1, other, claim)
                assert reply.code == 4, reply

    def leave(self):
        if (p := self.any_place()) and (p.state == "g" or self.rng.random() < 0.5):
            self.part(p)
            for _ in range(self.rng.choice((1, 1, 2))):  # again: the answer was lost
                assert p.session.leave(p.id, p.name) == (0, False)

    def read(self):
        if p := self.any_place():
            self.shown(p.session.read(p.id, p.name), p)
        reply = self.someone().read(self.ids + 1)
        assert (reply.code, reply.state) == (0, "-"), reply

    def downgrade(self):
        p = self.any_place()
        if p and p.weight > 1:
            weight = self.lesser(p)
            less = weight < p.weight
            p.weight = weight
            if less:
                self.event(p, "d")
                self.changed(p.name, p)
            for _ in range(2):
                self.shown(p.session.downgrade(p.id, weight, p.name), p)
        else:
            reply = self.someone().downgrade(self.ids + 1, 1)
            assert (reply.code, reply.state) == (0, "-"), reply

    def break_(self):
        if p := self.any_place():
            self.part(p, "b")
            self.expected.append((p.session.sid, f"b {p.id}"))
            self.broken[p.owner] = p
            assert self.someone().break_place(p.name, p.seq) == 0
            assert p.session.read(p.id, p.name).state == p.session.downgrade(p.id, 1, p.name).state == "-"
            assert self.someone().break_place(p.name, p.seq) == 6
            assert p.session.messages()[p.id][0] == "b"
        assert self.someone().break_place("no line", 1) == 6

    def leave_broken(self):
        if self.broken:
            p = self.broken[self.rng.choice(sorted(self.broken))]
            reply = p.session.enter(p.id, p.name, p.weight, capacity(p.name), is_claim(p.name))
            assert (reply.code, reply.state) == (0, "-"), reply
            for _ in range(2):  # again and again: the row goes with the session
                assert p.session.leave(p.id, p.name) == (0, True)

    def ask(self):
        if p := self.any_place():
            p.asked = f"why {self.rng.random()}"
            self.event(p, "a", p.asked)
            self.expected.append((p.session.sid, f"a {p.id}"))
            assert self.someone().ask(p.name, p.seq, p.asked) == 0
        assert self.someone().ask("no line", 1, "") == 6

    def verify(self):
        if p := self.any_place():
            assert self.someone().verify(p.name, p.seq) == (p.state == "g")
            assert not self.someone().verify(p.name + "x", p.seq)
            assert not self.someone().verify(p.name, self.top[p.name] + 1)

    def watch(self):
        name, session = self.rng.choice(list(LINES)), self.someone()
        way, stale = self.rng.randrange(3), False
        if way == 0:
            stamp = self.stamps.get(name, 1)
            stale = self.rng.random() < 0.5
            reply = session.watch(name, stamp + 1 if stale else stamp)
        elif way == 1 and self.line(name):
            there = self.rng.choice(self.line(name)).seq
            stale = self.rng.random() < 0.5
            reply = session.watch(name, 0, 5 if stale else there)
        else:
            reply = session.watch(name)
        assert reply == (0, stale), reply
        if not stale:
            self.made(name)
            self.watches.add((name, session.sid))

    def watch_store(self):
        session = self.someone()
        if session.sid not in self.store_watchers:
            (session.stamp, _), names = session.watch_store(self.rng.choice((0, 0, 5)))
            assert names is None
            self.store_watchers[session.sid] = [set(), False]
            return
        should, waits = self.store_watchers[session.sid]
        if self.rng.random() < 0.1:  # the answer was lost
            session.watch_store(session.stamp)
            if should:
                (session.stamp, _), names = session.watch_store(session.stamp)
                assert names is None
                self.store_watchers[session.sid] = [set(), False]
                return
            waits = True
        (session.stamp, unsettled), names = session.watch_store(session.stamp)
        assert set(names) == should and len(names) == len(should), (names, should)
        assert unsettled == (not names and not waits), (unsettled, names, waits)
        self.store_watchers[session.sid] = [set(), not names]

    def watch_store_no_more(self):
        if self.store_watchers:
            sid = self.rng.choice(sorted(self.store_watchers))
            del self.store_watchers[sid]
            next(s for s in self.sessions if s.sid == sid).watch_store(0, 1)

    def list(self):
        name = self.rng.choice([*LINES, None])
        stamp, rows = self.someone().list(name)
        assert stamp == self.stamps.get(name, 1), stamp
        should = [(self.stamps[p.name], p.name, p.seq, p.weight, capacity(p.name),
                   is_claim(p.name), p.state, p.slot, p.note)
                  for p in self.places.values() if name in (None, p.name)]
        assert sorted(row[:8] + row[9:10] for row in rows) == sorted(should), rows
        assert all(row[10] in self.renewals.values() and row[11] == TTL for row in rows), rows

    def renew(self):
        """The answer names sessions in our way: the first few of each line."""
        session = self.someone()
        code, number, others = session.renew()
        assert code == 0 and number > max(self.renewals.values())
        waits = {p.name for p in self.line_of(session) if p.state == "w"}
        waits |= {name for name, sid in self.watches if sid == session.sid}
        should = {p.session.sid for name in waits for p in self.line(name)[:8]} - {session.sid}
        if session.sid in self.store_watchers:
            should = {s.sid for s in self.sessions} - {session.sid}
        should = {TTL: min(self.renewals[sid] for sid in should)} if should else {}
        assert others == should, (others, should)
        self.renewed(session)

    def sweep(self):
        self.someone().sweep(self.rng.choice((1, 2, 1000)))
        self.forgotten()

    def forgotten(self):
        """Lines that have been empty for a minute are deleted: here those that were only watched."""
        left = {row["name"] for row in self.space.everything()["line"]}
        for name in set(self.stamps) - left:
            assert not self.line(name) and name not in [w[0] for w in self.watches], name
            del self.stamps[name]

    def line_of(self, session):
        return [p for p in self.places.values() if p.session is session]

    def again(self):
        """Move to a new connection; calls on the old one are refused."""
        session = self.someone()
        assert session.hello()[0] == 0
        self.renewed(session)
        for function, args in (("renew", []), ("leave", [1, "m"]), ("read", [1, "m"]), ("downgrade", [1, "m", 1]),
                               ("reclaim", ["{}"]), ("watch", ["m", 0, 0]),
                               ("enter", [self.ids + 1, "m", 1, 1, False, False, 0, "", SECRET])):
            rows = session.call(function, *args, connection=session.connection - 1)
            assert str(rows[0][0]) == "3", (function, rows)
        assert session.bye(connection=session.connection - 1) != 0
        assert session.outside("hello", VERSION, session.sid, session.connection - 1, TTL, False,
                               "")[0][0] == 3
        self.reclaim(session)

    def reclaim(self, session=None):
        """The client has forgotten some places, as if their LEAVE had been lost."""
        session = session or self.someone()
        mine = self.line_of(session)
        lost = [p for p in mine if self.rng.random() < 0.2]
        for p in sorted(lost, key=lambda p: p.name.encode()):
            self.part(p)
        keep = [p.id for p in mine if p not in lost]
        for _ in range(2):
            assert session.reclaim(*keep) == 0
        self.lenient(lost)

    def lenient(self, lost):
        """Several places of one line may leave in any order, so the slots of others may differ:
        take those that the server gave."""
        names = {p.name for p in lost}
        rows = self.space.everything()["every_place"]
        for row in rows:
            p = self.places.get(f"{row['sid']}:{row['id']}")
            if p and p.name in names and p.slot != row["slot"]:
                self.expected.remove((p.session.sid, f"g {p.id} {p.slot}"))
                p.slot = row["slot"]
                self.expected.append((p.session.sid, f"g {p.id} {p.slot}"))
        for name in names:
            slots = [p.slot for p in self.line(name, "g") if p.slot >= 0]
            assert len(set(slots)) == len(slots) <= capacity(name), slots

    def bye(self):
        session = self.someone()
        if len(self.sessions) > 2:
            by_key = self.rng.random() < 0.5
            self.expire(session, what="x" if by_key else "r")
            del self.renewals[session.sid]
            if not by_key:
                assert session.bye() == 0
            else:
                assert session.outside("bye", session.sid, None)[0][0] == 0
                self.expected.append((session.sid, "e"))
            assert session.bye() == session.outside("bye", session.sid, None)[0][0] == 2
            self.forgotten()

    def die_together(self):
        """Expire sessions that are silent since a number drawn longer than their ttl ago."""
        by_age = sorted(self.sessions, key=lambda s: self.renewals[s.sid])
        doomed, alive = by_age[:self.rng.randint(1, 2)], by_age[2:]
        number = self.renewals[doomed[-1].sid]
        if alive:
            self.space.grow_old()
            assert alive[-1].expire_silent((number, TTL), (number - 1, TTL // 2)) == 0
            self.expire(*doomed)
            for session in doomed:
                del self.renewals[session.sid]
            assert alive[-1].expire_silent((number, TTL + TTL // 500)) == len(doomed)
        while len(self.sessions) < 3:
            self.join()

    def die(self):
        doomed = self.rng.sample(self.sessions, self.rng.randint(1, min(3, len(self.sessions))))
        for session in doomed:
            renewal = self.renewals.pop(session.sid)
            assert not session.expire(session.sid, renewal - 1)
            self.expire(session)
            assert session.expire(session.sid, renewal)
            assert not session.expire(session.sid, renewal)
            for reply in (session.renew(), session.leave(1, "m"), session.read(1), session.downgrade(1, 1),
                          session.watch("m"), session.enter(self.ids + 1, "m"), session.hello()):
                assert reply[0] == 2, reply
            assert session.reclaim() == session.bye() == 2
        while len(self.sessions) < 3:
            self.join()

    def clock(self):
        """The server's clock was set back since it gave out these tokens."""
        if self.stamps:
            name = self.rng.choice(sorted(self.stamps))
            ahead = max(self.top.get(name, 0), 10**15) + 10**12
            self.space.change("UPDATE holdfast.line SET last = greatest(last, $1) WHERE name = $2",
                              ahead, name)
            self.top[name] = max(self.top.get(name, 0), ahead)

    def forget(self):
        """All sessions end, and all lines are deleted; tokens still rise."""
        self.leave_all()
        floor = self.space.everything()["head"][0]["floor"]
        assert floor >= max(self.top.values(), default=0), (floor, self.top)
        self.top = {name: floor for name in LINES}
        self.stamps = {}
        while len(self.sessions) < 3:
            self.join()

    STEPS = {"enter": 40, "leave": 22, "read": 8, "downgrade": 6, "break_": 3, "leave_broken": 3,
             "ask": 2, "verify": 2, "watch": 5, "list": 2, "renew": 4, "again": 2, "reclaim": 1,
             "mismatch": 1, "bye": 1, "die": 2, "die_together": 1, "sweep": 1, "join": 1, "clock": 1, "forget": 0.3,
             "watch_store": 8, "watch_store_no_more": 1}

    def leave_all(self):
        while self.sessions:
            session = self.sessions[-1]
            self.expire(session, what="r")
            del self.renewals[session.sid]
            if not self.sessions:
                self.stamps = {}
            assert session.bye() == 0
            self.forgotten()
            self.check()

    def finish(self):
        """All sessions leave, and no row remains."""
        self.leave_all()
        assert not any(self.space.counts().values()), self.space.counts()
        self.space.drop()


class Quiet(Model):
    """Without history, with few store watches, and with short lines: many of them become biased."""
    LOG = 0
    STEPS = Model.STEPS | {"enter": 30, "leave": 40, "watch": 2, "watch_store": 0.3, "watch_store_no_more": 3}

    def __init__(self, server, rng):
        self.quick = 0
        super().__init__(server, rng)

    def enter(self):
        """Count those that only changed the line's row."""
        before = self.places_inserted()
        there = len(self.places)
        super().enter()
        self.quick += len(self.places) > there and self.places_inserted() == before

    def places_inserted(self):
        return {(row["sid"], row["id"]) for row in self.space.everything()["place"]}

    def finish(self):
        super().finish()
        assert self.quick > 20, self.quick
