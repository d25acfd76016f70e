#!/usr/bin/env -S python3 -B
"""scripts_quick - the fast paths enter_quick.lua and leave_quick.lua do what enter.lua and leave.lua do.

    test/redis/scripts_quick.py [FOLDER] [--steps N] [--seed N] [CASE ...]

FOLDER, where programs are built, does not matter here.  The same random steps run in three
namespaces: with the fast paths, without them, and with either at random, as clients of different
versions would.  After each step all three must have the same data, except for times and tokens.
"""
import random
import re

from cases import *  # noqa: F403
import lines
from model import NOTES

LINES = {"m": "1", "m2": "1", "mm\u00e9 1 1": "1", "rw": str(MANY), "s": "3"}
LONG = 120 * TTL  # longer than the test
NUMBER = re.compile(r"\b\d{16}\b")


# ---- Three ways ----------------------------------------------------------------------------


def general(name):
    """The script without its fast path."""
    text = lines.source(name)
    for script, old, new in (("enter", "local quick = f[1]", "local quick = false and f[1]"),
                             ("leave", "if f[1] == ARGV[1] and", "if false and")):
        if script == name:
            assert text.count(old) == 1, f"{name}_quick.lua is another one: change this test, too"
            text = text.replace(old, new)
    return text


class Either(dict):
    """Scripts by their names: one of two at random."""
    def __init__(self, rng, one, other):
        super().__init__(one)
        self.rng, self.other = rng, other

    def __getitem__(self, name):
        return self.rng.choice((super().__getitem__(name), self.other[name]))


class Trio:
    def __init__(self, rng):
        self.rng = rng
        self.spaces = [space(), space(source=general), space()]
        self.spaces[2].sha = Either(rng, *(there.sha for there in self.spaces[:2]))
        self.sessions, self.ids, self.places = [], 0, []  # (who, id, name, weight)
        self.store_watchers, self.shown = set(), [{} for _ in self.spaces]
        for _ in range(3):
            self.join()

    def all(self, who, what, *args, **more):
        """All three do it; their answers must be the same."""
        replies = [getattr(session, what)(*args, **more) for session in self.sessions[who]]
        plain = [self.plain_reply(i, reply) for i, reply in enumerate(replies)]
        assert plain[0] == plain[1] == plain[2], (what, args, more, *plain)
        return replies

    # ---- Comparing

    def token_names(self, i):
        """Names for tokens seen in that space, by rank: the same in all three."""
        return {token: f"#{rank}" for rank, token in enumerate(sorted(self.shown[i]))}

    def plain(self, i, text):
        """Without times; tokens of places by their ranks."""
        names = self.token_names(i)
        return NUMBER.sub(lambda m: names.get(m[0], "TIME"), text)

    def plain_reply(self, i, reply):
        if not isinstance(reply, lines.Reply):
            return reply
        if reply.state in ("g", "w"):
            self.shown[i][reply.seq] = True
            assert len(reply.since) == 16, reply
        names = self.token_names(i)
        return reply._replace(since=0, patience=bool(reply.patience),
                              seq=names.get(reply.seq, reply.seq))

    def plain_state(self, i):
        there = self.spaces[i]
        fields = there.fields()
        members = [m[0] + m[17:] if m[0] == "e" else self.plain(i, m) for m in there.members()]
        assert all(fields["last"] >= token for token in self.shown[i])
        for text in there.fields("t").values():
            assert re.match(r"[gwb] \d{16} \d+ -?\d+ \d{16} \S+ [^\n]*\n", text), text
        epoch = fields.pop("epoch")
        for key in ("run", "last", "ttl"):
            del fields[key]
        ret = {key: self.plain(i, text.removesuffix(epoch)) if key[:2] == "l\n" else
               re.sub(r":\d+", "", text) if key == "watch_store" else self.plain(i, text)
               for key, text in fields.items()}
        told = [(sid, self.plain(i, text)) for sid, text in there.messages()]
        changed = there.link.call("ZRANGE", there.changes, 0, -1)
        past = [self.plain(i, text) for text in there.link.call("LRANGE", there.history_key, 0, -1)]
        return ret, sorted(members), sorted(told), sorted(changed), past

    def check(self):
        states = [self.plain_state(i) for i in range(len(self.spaces))]
        for other in states[1:]:
            for one, another in zip(states[0], other):
                assert one == another, f"\n{one}\n{another}"

    # ---- Steps

    def who(self):
        return self.rng.randrange(len(self.sessions))

    def place(self):
        return self.rng.choice(self.places) if self.places else (0, 999_999, "m", 1)

    def token(self, i, id, who):
        """Of a place in space i."""
        sid = self.sessions[who][i].sid
        text = self.spaces[i].fields("t").get(f"{sid}:{id}", "")
        return text.split(" ")[1] if text else "1" * 16

    def join(self):
        if len(self.sessions) < 6:
            sid = f"{self.rng.getrandbits(64):016x}"
            self.sessions.append([lines.Session(there, sid) for there in self.spaces])
            assert all(s.hello(ttl=LONG)[0] == 0 for s in self.sessions[-1])

    def enter(self):
        name = self.rng.choice([*LINES, "m", "m", "m2"])
        weight = self.rng.choice((1, 1, MANY)) if name == "rw" else \
            self.rng.randint(1, 3) if name == "s" else 1
        limit, only_free = self.rng.choice((0, 0, 0, 2)), self.rng.random() < 0.1
        who, note = self.who(), self.rng.choice(NOTES)
        self.ids += 1
        again = self.rng.random() < 0.1
        for _ in range(1 + again):
            replies = self.all(who, "enter", self.ids, name, weight, LINES[name],
                               int(only_free), limit, note)
        if replies[0].state in ("g", "w"):
            self.places.append((who, self.ids, name, weight))

    def enter_again(self):
        """A repeat after a lost answer: the place may hold, wait, be broken or be gone."""
        who, id, name, weight = self.place()
        if id < 999_999:
            self.all(who, "enter", id, name, weight, LINES[name])

    def leave(self):
        who, id, name, _ = place = self.place()
        for _ in range(self.rng.choice((1, 1, 1, 2))):
            self.all(who, "leave", id, name)
        if self.rng.random() < 0.9 and place in self.places:
            self.places.remove(place)

    def wrong_connection(self):
        who, id, name, _ = self.place()
        self.all(who, "call", "leave", name, id=id, connection=77)
        self.all(who, "call", "enter", name, "", "", id=10**6, connection=77)

    def anybody(self):
        verb, (who, id, name, _), why = self.rng.choice(("ask", "ask", "break")), self.place(), "why"
        asks = self.who()
        replies = [s.anybody(verb, name, self.token(i, id, who), why)
                   for i, s in enumerate(self.sessions[asks])]
        assert replies[0] == replies[1] == replies[2], replies

    def downgrade(self):
        who, id, name, _ = self.place()
        self.all(who, "downgrade", id, name, 1)

    def watch(self):
        replies = [s.watch(self.rng_name) for s in self.sessions[self.who()]]
        assert len({tuple(reply[:2]) for reply in replies}) == 1, replies

    def watch_store(self):
        who = self.who()
        for s in self.sessions[who]:
            s.watch_store(0)
        self.store_watchers.add(who)

    def watch_store_no_more(self):
        for who in self.store_watchers:
            for s in self.sessions[who]:
                s.watch_store(0, 1)
        self.store_watchers = set()

    def history(self):
        length = self.rng.choice((0, 0, 0, 5))
        assert all(s.hello(ttl=LONG, history=[length])[0] == 0 for s in self.sessions[0])

    def die(self):
        """And another client notices, by a renewal or by entering the line."""
        who = self.who()
        if len(self.sessions) < 3:
            return
        for i, there in enumerate(self.spaces):
            there.kill(self.sessions[who][i])
        dead = self.sessions.pop(who)
        if self.rng.random() < 0.5:
            assert all(s.renew(ttl=LONG)[0] == 0 for s in self.sessions[0])
        else:
            self.enter()
            assert all(s.renew(ttl=LONG)[0] == 0 for s in self.sessions[0])
        self.places = [(w - (w > who), *rest) for w, *rest in self.places if w != who]
        self.store_watchers = {w - (w > who) for w in self.store_watchers if w != who}
        assert all(s.renew() == [2] for s in dead)

    STEPS = {"enter": 40, "leave": 30, "enter_again": 4, "wrong_connection": 1, "anybody": 4,
             "downgrade": 3, "watch": 2, "watch_store": 1, "watch_store_no_more": 4, "history": 2, "die": 2,
             "join": 2}

    def step(self):
        name = self.rng.choices(list(self.STEPS), list(self.STEPS.values()))[0]
        self.rng_name = self.rng.choice(list(LINES))
        getattr(self, name)()
        self.check()


@case
def fast_and_general_paths_do_the_same():
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"# --seed {seed} --steps {options.steps}")
    trio = Trio(random.Random(seed))
    for i in range(options.steps):
        try:
            trio.step()
        except BaseException:
            print(f"# at step {i}")
            raise


# ---- One by one ----------------------------------------------------------------------------


@case
def the_limit_of_waiters_holds_for_a_mutex():
    there = space()
    a, b = sessions(there)
    assert a.enter(1, "m", limit=1).state == "g"
    assert b.enter(1, "m", limit=1).state == "w"
    assert b.enter(2, "m", limit=1).code == 5 and b.enter(2, "m", limit=2).state == "w"
    assert b.enter(3, "m", limit=2).code == 5 and b.enter(3, "m").state == "w"
    assert b.enter(4, "m", only_free=1).state == "r"
    assert len(there.fields("t")) == 4 and there.fields()["l\nm"].split()[2] == "3"


@case
def a_repeated_enter_of_a_waiter_gets_one_place():
    """Its member o shows that it is there, not its field."""
    there = space()
    a, b, c = sessions(there, 3)
    first = a.enter(1, "m")
    assert a.enter(1, "m").seq == first.seq and len(there.members("hm\n")) == 1
    second = b.enter(1, "m")
    assert second.state == "w" and b.enter(1, "m").seq == second.seq
    assert len(there.members("qm\n")) == 1 and there.fields()["l\nm"].split()[1:3] == ["1", "1"]
    assert a.enter(2, "other").state == "g" and a.leave(2, "other") == [0, 0]
    assert c.anybody("break", "m", first.seq) == [0]  # the line goes on; the member o stays
    assert b.leave(1, "m") == [0, 0] and "l\nm" not in there.fields()
    assert a.enter(1, "m").state == "-" and there.holders("m") == []
    assert not there.members("hm\n") and a.leave(1, "m") == [0, 1]


@case
def tokens_rise_when_the_clock_is_behind():
    there = space()
    a, b = sessions(there)
    ahead = there.now() + TTL
    there.link.call("HSET", there.state, "last", ahead)
    first, second, third = a.enter(1, "m"), b.enter(1, "m"), a.enter(2, "m")
    assert [p.state for p in (first, second, third)] == ["g", "w", "w"]
    assert ahead < int(first.seq) < int(second.seq) < int(third.seq)
    last = int(there.fields()["last"])
    assert int(third.seq) <= last and (second.ahead, third.ahead) == (1, 2)
    assert a.leave(1, "m") == [0, 0] and there.holders("m") == [f"{b.sid}:1"]
    assert int(there.fields()["last"]) > last


@case
def a_line_of_an_older_epoch_is_recounted():
    """By any ENTER or LEAVE; here another holder came back that the line has not counted."""
    there = space()
    a, b, c, d = sessions(there, 4)
    epoch = there.fields()["epoch"]
    for session in (a, b, c):
        place = session.enter(1, "m")
    there.link.call("ZREM", there.order, f"qm\n{place.seq} 1 {c.sid}:1")
    there.link.call("ZADD", there.order, 0, f"hm\n{place.seq} 1 {c.sid}:1")
    there.link.call("HSET", there.state, f"t\n{c.sid}:1", f"g {place.seq} 1 -1 {place.since} 1 m\n")

    def is_old(waiting):
        there.link.call("HSET", there.state, "l\nm", f"1 1 {waiting} 0 {int(epoch) - 1}")

    is_old(5)
    assert d.enter(1, "m").state == "w" and there.fields()["l\nm"] == f"1 2 2 0 {epoch}"
    is_old(2)
    assert a.leave(1, "m") == [0, 0] and there.holders("m") == [f"{c.sid}:1"]
    is_old(0)
    assert c.leave(1, "m") == [0, 0] and there.holders("m") == [f"{b.sid}:1"]
    assert there.fields()["l\nm"] == f"1 1 1 0 {epoch}"


@case
def a_grace_period_revived_by_the_clock_is_kept():
    """The clock was set back before anybody had noticed that the grace period was over."""
    there = space()
    a, b = sessions(there)
    a.enter(1, "m")
    assert b.enter(1, "m").state == "w"
    there.link.call("HSET", there.state, "grace", f"{there.now() + TTL} {TTL}")
    assert a.leave(1, "m") == [0, 0] and there.holders("m") == []
    assert a.enter(2, "n").state == "w"
    there.end_grace()
    assert b.read(1, "m").state == "g" and a.read(2, "n").state == "g"


@case
def missing_data_let_no_waiter_be_passed_over():
    there = space()
    a, b, c = sessions(there, 3)
    a.enter(1, "m")
    second = b.enter(1, "m")
    there.link.call("ZREM", there.order, f"qm\n{second.seq} 1 {b.sid}:1")
    there.link.call("HSET", there.state, "l\nm", f"1 1 2 0 {a.epoch}")
    assert c.enter(1, "m").state == "w"
    assert a.leave(1, "m") == [0, 0] and there.holders("m") == []
    assert "run" not in there.fields()  # the next client finds that data were lost


@case
def scripts_ask_for_the_log_keys_they_need():
    """Without them a script does nothing: no change is lost or logged twice."""
    there = space()
    a, b = sessions(there)
    assert a.enter(1, "m").state == "g"
    b.watch_store(0)
    before = there.fields(), there.members()
    for script, args, id in (("enter", ["n", "", ""], 2), ("leave", ["m"], 1)):
        assert there.link.call(*a.command(script, *args, id=id)) == [8]
    assert before == (there.fields(), there.members()) and not there.messages()
    stamp, names = b.watch_store(there.now())
    assert names is None or not names
    assert a.leave(1, "m") == [0, 0] and a.enter(2, "n").state == "g"
    assert sorted(there.link.call("ZRANGE", there.changes, 0, -1)) == ["m", "n"]


@case
def the_sorted_set_is_never_stored_as_a_list():
    """A list would be searched linearly."""
    there = space()
    a = there.session()
    assert there.link.call("OBJECT", "ENCODING", there.order) == "skiplist"
    assert there.members() == [f"e{there.fields()[f's{chr(10)}{a.sid}'].split()[0]}{a.sid}",
                               f"u{TTL:016}{a.sid}"]


def add_options(parser):
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--seed", type=int)


main(add_options)
