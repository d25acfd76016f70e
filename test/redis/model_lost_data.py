"""model_lost_data - the model with servers that lose all data, the latest, or none.

Then only clients have the truth.  A client that comes back within the grace period keeps all its
places, one that does not has lost them, and meanwhile nothing is granted.
"""
from lines import TTL, Session, claim_value
from model import Model, Place
from rule import LINES, MANY

ON_HOLD = {"enter": 30, "leave": 10, "read": 10, "downgrade": 10, "break_": 3, "ask": 3, "watch": 5,
           "renew": 3, "verify": 2, "mismatch": 1}


class Losing(Model):
    def __init__(self, path, rng):
        super().__init__(path, rng)
        self.kept = self.space.keep()

    def step(self, **more):
        if self.rng.random() < 0.05:
            self.kept = self.space.keep()
        if self.rng.random() < 0.02:
            self.lose()
        super().step(**more)

    def lose(self):
        way = self.rng.choice(("all", "last", "none"))
        self.done[way] = self.done.get(way, 0) + 1
        kept = {"all": {}, "last": self.kept, "none": self.space.keep()}[way]
        self.space.lose(kept)
        back = self.rng.sample(self.sessions, self.rng.randint(1, len(self.sessions)))
        self.on_hold = True
        self.begin_hold(back)
        if way != "none":
            self.broken = {}
        for session in back:
            self.come_back(session)
            self.meddle(back[:back.index(session) + 1])
        self.resume()
        for _ in range(self.rng.randrange(10)):
            super().step(steps=ON_HOLD)
        self.end_grace()
        self.kept = self.space.keep()

    def begin_hold(self, back):
        """Some clients do not come back, among them all that said bye."""
        self.sessions = list(back)
        if self.rng.random() < 0.5:  # a new client comes first
            self.sessions.append(Session(self.space, f"{self.rng.getrandbits(64):016x}"))
        assert self.sessions[-1].hello(grace=TTL)[2] > 0
        for session in self.sessions[:-1]:
            assert session.read(1, "m").code == 1 and session.renew() == [1]
        sids = {session.sid for session in self.sessions}
        dead = [sid for sid in self.space.fields("s") if sid not in sids]
        for sid in dead:
            self.space.kill(Session(self.space, sid))
        for _ in range(len(dead) // 8 + 1):
            assert self.sessions[-1].hello(grace=TTL)[0] == 0
        self.places = {o: p for o, p in self.places.items() if p.session in back}
        self.broken = {o: p for o, p in self.broken.items() if p.session in back}

    def come_back(self, session):
        assert session.hello(grace=TTL)[0] == 0
        mine = [p for p in self.places.values() if p.session is session]
        for p in mine:
            if p.kind != "1c" and self.rng.random() < 0.2:  # granted, but the message was lost
                p.state, p.slot = "w", -1
        untold = []
        for owner in [o for o, p in self.broken.items() if p.session is session]:
            if self.rng.random() < 0.5:
                untold.append(self.broken[owner])  # before it was broken
            else:
                del self.broken[owner]
        for _ in range(self.rng.choice((1, 1, 2))):
            self.space.messages(numbered=False)
            assert session.reclaim(*(p.reclaimed() for p in mine + untold))[0] == 0
            told = self.space.messages(numbered=False)
            told = [text for sid, text in told if sid == session.sid and text[0] != "c"]
            assert sorted(told) == sorted(f"b {p.id}" for p in untold), told

    def meddle(self, back):
        """Steps of the clients that are back, while others are not."""
        session, name = self.rng.choice(back), self.rng.choice(list(LINES))
        mine = [p for p in self.places.values() if p.session is session]
        way = self.rng.randrange(4)
        if way == 0:
            self.ids += 1
            p = Place(session, self.ids, name, self.weight(name), "")
            claim = int(p.kind == "1c")
            reply = session.enter(p.id, name, p.weight, p.kind, claim)
            assert reply.state == ("r" if claim else "w"), reply
            if not claim:
                assert int(reply.seq) > self.top
                p.seq, p.since, self.top = reply.seq, reply.since, int(reply.seq)
                self.places[p.owner] = p
        elif way == 1 and mine:
            p = self.rng.choice(mine)
            assert session.leave(p.id, p.name, p.kind == "1c") == [0, 0]
            del self.places[p.owner]
        elif way == 2 and mine:
            p = self.rng.choice(mine)
            p.weight = self.lesser(p)
            assert session.downgrade(p.id, p.name, p.weight).state == p.state
        told = self.space.messages(numbered=False)
        assert not [text for _, text in told if text[0] == "g"], told

    def resume(self):
        """The model goes on from the data: requests and watches may be lost.  Nobody watches the
        store any more."""
        assert self.sessions[0].hello(grace=TTL, history=self.HISTORY)[0] == 0
        self.number, self.events, self.store_watchers = self.newest(), [], {}
        fields = self.space.fields()
        self.last, self.changes = int(fields["last"]), 0
        self.watches = {tuple(m[1:].split("\n")) for m in self.space.members("w")}
        self.space.numbers = {k: int(n) for k, n in self.space.fields("n").items()}
        for p in self.places.values():
            p.asked = fields.get("a\n" + p.owner)
        owners = {claim_value(p.owner, p.seq) for p in self.places.values() if p.kind == "1c"}
        for key in self.space.keys():
            if ":claim:" in key:
                value = self.space.link.call("GET", key)
                if value in owners:
                    owners.remove(value)
                else:  # its lease would end before the grace period
                    self.space.link.call("DEL", key)
        assert not owners, "claims were not put back"
        self.check()

    def end_grace(self):
        """The first client to touch a line brings it up to date."""
        self.space.end_grace()
        self.on_hold = False
        names = sorted({p.name for p in self.places.values()})
        self.rng.shuffle(names)
        for name in names:
            p = self.rng.choice(self.line(name))
            way = self.rng.randrange(4)
            if way == 0:
                self.part(p)
                assert p.session.leave(p.id, name, p.kind == "1c") == [0, 0]
            elif way == 1 and p.weight > 1:
                p.weight = 1 if p.weight == MANY else p.weight - 1
                self.event(p, "d")
                self.changed(name, p)
                self.shown(p.session.downgrade(p.id, name, p.weight), p)
            elif way == 2:
                self.part(p, "b")
                self.expected.append((p.session.sid, f"b {p.id}"))
                self.broken[p.owner] = p
                assert self.someone().anybody("break", name, p.seq) == [0]
            else:
                self.changed(name, p)
                again = p.id, name, p.weight, p.kind, 0, 0, p.note
                reply = p.session.read(p.id, name, p.kind == "1c") if way == 3 else p.session.enter(*again)
                self.shown(reply, p)
            self.check()
        epoch = self.space.fields()["epoch"]
        for name, text in self.space.fields("l").items():
            assert text.split()[-1] == epoch, name
        while len(self.sessions) < 3:
            self.join()
