"""rule - a simple model of a server that decides who is granted.

Walk a line in the order of seqs: all places are granted up to the first that does not pass, see
verdict().  That is the whole rule; servers get the same result from totals.  A store's model does
random steps, both on its server and by the rule, and compares all data.
"""
MANY = 4294967295  # capacity of a line of readers, and weight of a writer

LINES = {"m": "1", "mm": "1", "m 3": "3", "s": "5", "rw": str(MANY), "r\u00e9w": str(MANY),
         "c": "1c", "cc": "1c"}


def capacity(name):
    return int(LINES[name].rstrip("c"))


def is_claim(name):
    return LINES[name] == "1c"


def has_slots(name):
    return LINES[name] not in ("1", "1c", str(MANY))


def is_strange(shape):
    """Is the shape invalid?  A shape is (weight, capacity, is it a claim)."""
    weight, capacity, claim = shape
    return not 1 <= weight <= capacity <= MANY or claim and capacity != 1 or \
        capacity == MANY and weight not in (1, MANY)


def verdict(ahead, mine):
    """May a place pass those ahead of it?  P yes, B they are too heavy, M one is of another
    kind, S one makes no sense."""
    if not ahead:
        return "P"
    if any(map(is_strange, ahead)):
        return "S"
    if is_strange(mine) or any(shape[1:] != mine[1:] for shape in ahead):
        return "M"
    return "P" if sum(shape[0] for shape in ahead) + mine[0] <= mine[1] else "B"


class Place:
    def __init__(self, session, id, name, weight, note):
        self.session, self.id, self.name, self.weight, self.note = session, id, name, weight, note
        self.owner = f"{session.sid}:{id}"
        self.kind = LINES[name]
        self.state, self.slot, self.asked, self.seq, self.since = "w", -1, None, None, None


class Rule:
    """`expected`: messages that the server should have sent, [(session, text)].  `events`: what
    should be in its history, [(what, name, seq, weight, slot, note, why)]."""

    STEPS = {}  # steps, and how often each
    TELLS_ONCE = True  # a store watcher gets one message until it reads

    def __init__(self, rng):
        self.rng = rng
        self.sessions, self.places, self.broken = [], {}, {}  # by owner
        self.watches = set()  # (name, sid)
        self.ids = 0
        self.store_watchers = {}  # by sid: [names that have changed, send a message?]
        self.expected, self.events, self.on_hold = [], [], False
        self.done = {}

    def line(self, name, state="gw"):
        return sorted((p for p in self.places.values() if p.name == name and p.state in state),
                      key=lambda p: p.seq)

    @staticmethod
    def shape(name, weight):
        return weight, capacity(name), is_claim(name)

    def settle(self, name, me=None):
        """Apply the rule; newly granted places get a message, except `me`."""
        ahead = []
        for p in self.line(name):
            if verdict(ahead, self.shape(name, p.weight)) != "P":
                break
            ahead.append(self.shape(name, p.weight))
            if p.state == "w":
                taken = {q.slot for q in self.line(name, "g")}
                free = next(i for i in range(len(taken) + 1) if i not in taken)
                p.slot = free if has_slots(name) else -1
                p.state = "g"
                self.event(p, "g")
                if p is not me:
                    self.expected.append((p.session.sid, f"g {p.id} {p.slot}"))

    def fits(self, name, weight):
        """Would one more be granted?"""
        ahead = [self.shape(name, q.weight) for q in self.line(name)]
        return not self.on_hold and verdict(ahead, self.shape(name, weight)) == "P"

    def count(self, name):
        """A line has changed."""
        raise NotImplementedError

    def event(self, p, what, why=""):
        self.events.append((what, p.name, p.seq, p.weight, p.slot, p.note, why))

    def changed(self, name, me=None):
        if not self.on_hold:
            self.settle(name, me)
        self.count(name)
        for sid, watch_store in self.store_watchers.items():
            watch_store[0].add(name)
            if watch_store[1]:
                self.expected.append((sid, "s"))
            watch_store[1] = watch_store[1] and not self.TELLS_ONCE
        for watch in [w for w in self.watches if w[0] == name]:
            self.watches.remove(watch)
            self.expected.append((watch[1], f"c {name}"))

    def part(self, p, what="r"):
        self.event(p, what if p.state == "g" else "l")
        del self.places[p.owner]
        self.changed(p.name)

    def ahead(self, p):
        """How many are ahead of a place: all holders, and the waiters before it."""
        if p.state == "g":
            return 0
        return len(self.line(p.name, "g")) + sum(q.seq < p.seq for q in self.line(p.name, "w"))

    def forget_session(self, session):
        """Its places are out of their lines already."""
        self.broken = {o: p for o, p in self.broken.items() if p.session is not session}
        self.watches = {w for w in self.watches if w[1] != session.sid}
        self.store_watchers.pop(session.sid, None)
        self.sessions.remove(session)

    # ---- At random

    def someone(self):
        return self.rng.choice(self.sessions)

    def any_place(self, states="gw"):
        there = sorted((p for p in self.places.values() if p.state in states),
                       key=lambda p: p.seq)
        return self.rng.choice(there) if there else None

    def weight(self, name):
        if LINES[name] == str(MANY):
            return self.rng.choice((1, 1, 1, MANY))
        return self.rng.randint(1, capacity(name))

    def lesser(self, p):
        """Possible new weights of a place: a writer only becomes a reader."""
        return self.rng.choice((1, p.weight, p.weight - (p.weight not in (1, MANY))))

    def step(self, steps=None):
        steps = steps or self.STEPS
        name = self.rng.choices(list(steps), list(steps.values()))[0]
        self.done[name] = self.done.get(name, 0) + 1
        if name == "join" and len(self.sessions) > 6:
            return
        getattr(self, name)()
        self.check()

    def check(self):
        """Compare all data, and the messages since the last call."""
        raise NotImplementedError
