#!/usr/bin/env -S python3 -B
"""three - the rule of exclusion in C, in Lua and twice in SQL, on the same random lines.

    test/served/three.py FOLDER [--lines N] [--seed N] [CASE ...]

The rule is written in C (core/line.c), in Lua for Redis, in SQL for PostgreSQL and for MariaDB, and
as simply as possible in rule.py.  A line begins empty.  Places enter, leave, are downgraded and are
refused at random.  After each step all must name the same holders, and all servers the same slots.
FOLDER is where programs are built.
"""
import collections
import importlib.util
import json
import pathlib
import random
import subprocess
import sys

import rule
import tap
from rule import MANY
from tap import case, options

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGEST = 12
LATER = 10  # steps at most, when the first places are there

# `code`: 0, 4 another kind, 5 too many wait; `state`: of ENTER g granted, w waits, r refused.
# `places`: {id: (state, weight, slot)} after it; `judged`: their shapes, and the newcomer's.
Step = collections.namedtuple("Step", "verb id shape only_free limit code state places judged")
Line = collections.namedtuple("Line", "name claim steps")


# ---- Lines -------------------------------------------------------------------------------


def random_kind(rng):
    """Capacity, and whether it is a claim."""
    return rng.choice(((1, False), (1, True), (rng.randint(2, 9), False),
                       (rng.randint(2, 9), False), (MANY, False)))


def random_weight(rng, capacity):
    if capacity == MANY:
        return rng.choice((1, 1, 1, MANY))
    return rng.choice((1, rng.randint(1, capacity)))


class Maker:
    """Makes the steps of one line, by rule.py alone."""

    def __init__(self, rng, ids):
        self.rng, self.ids = rng, ids
        self.capacity, self.claim = random_kind(rng)
        self.there = {}  # shapes by id, in the order of the line
        self.slots = {}  # of holders
        self.steps = []

    def settle(self):
        """Each holder has the lowest slot that was free."""
        ahead, before = [], self.slots
        self.slots = {id: slot for id, slot in before.items() if id in self.there}
        for id, shape in self.there.items():
            if rule.verdict(ahead, shape) != "P":
                break
            ahead.append(shape)
            if id not in self.slots:
                taken = {*self.slots.values()}
                free = next(i for i in range(len(taken) + 1) if i not in taken)
                self.slots[id] = free if 1 < self.capacity < MANY else -1

    def add(self, verb, id, shape=None, only_free=False, limit=0, code=0, state=None):
        self.settle()
        judged = [*self.there.values()]
        if verb == "enter" and id not in self.there:
            judged.append(shape)
        places = {i: ("g" if i in self.slots else "w", s[0], self.slots.get(i, -1))
                  for i, s in self.there.items()}
        self.steps.append(Step(verb, id, shape, only_free, limit, code,
                               state or (verb == "enter" and places[id][0]), places, judged))

    def enter(self):
        rng, id = self.rng, next(self.ids)
        if self.there and rng.random() < 0.1:
            return self.mismatch(id)
        shape = random_weight(rng, self.capacity), self.capacity, self.claim
        only_free = self.claim or rng.random() < 0.2
        limit = rng.choice((0, 0, 0, 1, 2, 4))
        waits = rule.verdict([*self.there.values()], shape) != "P"
        if waits and only_free:
            return self.add("enter", id, shape, True, limit, state="r")
        if waits and 0 < limit <= len(self.there) - len(self.slots):
            return self.add("enter", id, shape, False, limit, code=5, state="-")
        self.there[id] = shape
        self.add("enter", id, shape, only_free, limit)

    def mismatch(self, id):
        rng = self.rng
        others = [kind for kind in ((1, False), (1, True), (4, False), (5, False), (MANY, False))
                  if kind != (self.capacity, self.claim)]
        capacity, claim = rng.choice(others)
        shape = random_weight(rng, capacity), capacity, claim
        self.add("enter", id, shape, claim or rng.random() < 0.2, rng.choice((0, 1)), code=4,
                 state="-")

    def leave(self):
        id = self.rng.choice([*self.there])
        del self.there[id]
        self.add("leave", id)

    def downgrade(self):
        id = self.rng.choice([*self.there])
        weight, *kind = self.there[id]
        if self.capacity == MANY:
            weight = 1
        else:
            weight = self.rng.randint(1, weight)
        self.there[id] = weight, *kind
        self.add("downgrade", id, self.there[id])

    def make(self, number):
        for _ in range(self.rng.randint(0, LONGEST)):
            self.enter()
        for _ in range(self.rng.randint(0, LATER)):
            some = ["enter"] if len(self.there) < LONGEST else []
            some += ["leave", "leave", "downgrade"] if self.there else []
            getattr(self, self.rng.choice(some))()
        return Line(f"line {number}", self.claim, self.steps)


def make_lines():
    """The same for every case."""
    if not hasattr(options, "made"):
        rng, ids = random.Random(options.seed), iter(range(1, 10**9))
        options.made = [Maker(rng, ids).make(i) for i in range(options.lines)]
        steps = sum(len(line.steps) for line in options.made)
        print(f"# --seed {options.seed} --lines {options.lines}: {steps} steps")
    return options.made


def compare(line, there):
    """`there`: of each step (code, state, {id: (state, weight, slot)})."""
    assert len(there) == len(line.steps), there
    for i, (step, (code, state, places)) in enumerate(zip(line.steps, there)):
        if step.verb != "enter" or step.code:
            state = step.state
        if (code, state, places) == (step.code, step.state, step.places):
            continue
        for before in line.steps[:i + 1]:
            print("#", before.verb, before.id, before.shape or "", "only if free" * before.only_free,
                  f"limit {before.limit}" if before.limit else "", "->", before.code,
                  before.state or "", before.places)
        raise AssertionError(f"{line.name}, step {i}: {code} {state} {places}")


# ---- In C --------------------------------------------------------------------------------


def random_shape(rng):
    """Of any kind, invalid ones included."""
    if rng.random() < 0.15:
        return rng.choice(((0, 1, False), (3, 2, False), (2, MANY, False), (1, 2, True),
                           (1, 0, False), (MANY + 1, MANY + 1, False), (-1, 5, False)))
    capacity, claim = rng.choice(((1, False), (1, True), (3, False), (4, False), (MANY, False)))
    return random_weight(rng, capacity), capacity, claim


def mixed_lines():
    rng = random.Random(f"mixed {options.seed}")
    return [[random_shape(rng) for _ in range(rng.randint(0, LONGEST))]
            for _ in range(options.lines)]


@case
def the_rule_in_C():
    lines = mixed_lines() + [step.judged for line in make_lines() for step in line.steps]
    text = "\n".join(" ".join(f"{weight}/{capacity}{'c' * claim}"
                              for weight, capacity, claim in shapes) for shapes in lines)
    program = pathlib.Path(options.folder) / "test/served/rule"
    done = subprocess.run([program, "-"], input=text + "\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = done.stdout.splitlines()
    assert len(found) == len(lines), (len(found), len(lines))
    for shapes, letters in zip(lines, found):
        should = "".join(rule.verdict(shapes[:i], shape) for i, shape in enumerate(shapes))
        assert letters == should, f"{shapes}: C says {letters}, should be {should}"


# ---- In Lua ------------------------------------------------------------------------------


def module(store, name="lines"):
    """test/STORE/NAME.py."""
    spec = importlib.util.spec_from_file_location(f"{store}_{name}", ROOT / f"test/{store}/{name}.py")
    ret = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ret)
    return ret


def server(module):
    """The server; without one the case is skipped."""
    try:
        return module.standalone()
    except module.Missing as reason:
        raise tap.Skip(reason)


def redis_commands(sessions, line):
    for step in line.steps:
        session = sessions[step.id % len(sessions)]
        if step.verb == "enter":
            weight, capacity, claim = step.shape
            args, more = session.to_enter(step.id, line.name, weight, f"{capacity}{'c' * claim}",
                                          int(step.only_free), step.limit, str(step.id))
            yield session.command(*args, **more)
        else:
            weight = [step.shape[0]] if step.verb == "downgrade" else []
            claim = [session.space.claim(line.name)] if line.claim and not weight else []
            yield session.command(step.verb, line.name, *weight, id=step.id, keys=claim)
        yield session.command("list", line.name, "", keys=[session.space.claim(line.name)])


def redis_places(reply):
    """{id: (state, weight, slot)}; the note of a place is its id."""
    assert reply[0] == 0, reply
    ret = {}
    for text in reply[5:]:
        head, _, note = text.partition("\n")
        state, _, weight, slot, *_ = head.split(" ")
        ret[int(note.partition("\0")[0])] = state, int(weight), int(slot)
    return ret


@case
def the_rule_in_Lua():
    lines = module("redis")
    import redis
    with server(redis) as there:
        space = lines.Space(there.path)
        sessions = [space.session(ttl=20 * lines.TTL) for _ in range(3)]
        for line in make_lines():
            replies = space.link.calls(*redis_commands(sessions, line))
            found = []
            for step, reply, all in zip(line.steps, replies[::2], replies[1::2]):
                if step.verb == "leave":
                    found.append((0 if reply in (0, [0, 0]) else reply, None, redis_places(all)))
                else:
                    answer = sessions[0].parsed(reply)
                    found.append((answer.code, answer.state, redis_places(all)))
            compare(line, found)


# ---- In SQL ------------------------------------------------------------------------------

PLAY = """
CREATE FUNCTION public.play(p_name text, p_steps json) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
    s       record;
    v_answer text;
    v_state  text;
BEGIN
    FOR s IN SELECT * FROM json_to_recordset(p_steps) AS x(
        verb text, sid text, id bigint, weight bigint, capacity bigint, claim boolean,
        only_free boolean, most bigint)
    LOOP
        CASE s.verb
        WHEN 'enter' THEN
            v_answer := holdfast.enter(s.sid, 1, s.id, p_name, s.weight, s.capacity, s.claim,
                                       s.only_free, s.most, s.id::text, 'secret');
            v_state := split_part(v_answer, ' ', 2);
        WHEN 'leave' THEN
            v_answer := holdfast.leave(s.sid, 1, s.id, p_name);
        WHEN 'downgrade' THEN
            v_answer := holdfast.downgrade(s.sid, 1, s.id, p_name, s.weight);
        END CASE;
        RETURN NEXT format('%s %s', split_part(v_answer, ' ', 1), coalesce(v_state, '-')) || coalesce(
            (SELECT string_agg(format(' %s:%s:%s:%s', note, state, weight, slot), '')
             FROM holdfast.every_place WHERE name = p_name), '');
    END LOOP;
END $$
"""


def postgres_steps(sessions, line):
    for step in line.steps:
        weight, capacity, claim = step.shape or (0, 0, False)
        yield {"verb": step.verb, "sid": sessions[step.id % len(sessions)].sid, "id": step.id,
               "weight": weight, "capacity": capacity, "claim": claim,
               "only_free": step.only_free, "most": step.limit}


def postgres_answer(text):
    code, state, *places = text.split(" ")
    ret = {}
    for place in places:
        id, there, weight, slot = place.split(":")
        ret[int(id)] = there, int(weight), int(slot)
    return int(code), state, ret


@case
def the_rule_in_SQL():
    lines = module("postgres", "calls")
    import postgres
    with server(postgres) as there:
        space = lines.Space(there)
        sessions = [space.session() for _ in range(3)]
        space.link.run(PLAY)
        for line in make_lines():
            rows = space.link.call("SELECT public.play($1, $2)", line.name,
                                   json.dumps([*postgres_steps(sessions, line)]))
            compare(line, [postgres_answer(text) for text, in rows])
        space.drop()


# ---- In MariaDB's SQL --------------------------------------------------------------------


def mariadb_step(session, line, step):
    """(code, state)"""
    if step.verb == "enter":
        answer = session.enter(step.id, line.name, *step.shape, step.only_free, step.limit,
                               note=str(step.id))
        return answer.code, answer.state
    if step.verb == "leave":
        return session.leave(step.id, line.name)[0], None
    return session.downgrade(step.id, step.shape[0]).code, None


@case
def the_rule_in_SQL_of_MariaDB():
    lines = module("mariadb", "calls")
    import mariadb
    with server(mariadb) as there:
        space = lines.Space(there)
        sessions = [space.session() for _ in range(3)]
        for line in make_lines()[:300]:  # each step is two calls
            found = []
            for step in line.steps:
                code, state = mariadb_step(sessions[step.id % len(sessions)], line, step)
                listed = lines.rows(space.link, "list", line.name)[1:]
                found.append((code, state, {int(row[10]): (row[7], row[4], row[8]) for row in listed}))
            compare(line, found)
        space.drop()


def add_options(parser):
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))


def main():
    options.folder = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build"
    tap.main(lambda: open("/dev/null"), tap.Skip, add_options)


main()
