"""check - read histories of processes that take turns on locks, and look for what must not be.

    python3 test/chaos/check.py FOLDER      prints each violation, and a table; 1 if there is one

README.md has the format of histories, and explains why each rule is sound.  The rules:

    overlap  never more holders than fit, from a grant until its owner knows that it is over, or until somebody
             breaks it
    tokens   a grant that is wanted after another was given has a higher token
    order    who has a place before another wants one is granted first
    once     a grant ends once; no two have the same token
    truth    a release that succeeded: nobody else had the lock before it began, and nobody had broken it
    fence    the protected file accepts no token after a higher one, and refuses no holder
    set      an element that was added to a set with a fence is there at the end
    stuck    when all faults are over, every process gets a lock again
    crash    no process ends unless it was killed or told to
    left     the data of the store agree with themselves, and nothing is left at the end
"""
import collections
import dataclasses
import heapq
import json
import pathlib
import struct
import sys

ALL = 2**32 - 1  # weight of a writer, capacity of readers and writers
NEVER = 2**63 - 1
LAST = struct.Struct("=qq")  # struct last of test/lib/turns.h


@dataclasses.dataclass
class Turn:
    """One wish of one process, and what became of it.  Times are ns, None: did not happen."""
    who: str
    n: int
    want: int = None
    lock: str = ""
    weight: int = 1
    capacity: int = 1
    place: int = None  # when a place in the queue was first known
    grant: int = None
    token: int = None  # also if the lock has none
    requeued: bool = False  # the session was lost while it waited, or nobody knows
    lost: int = None  # when the library said so
    begun: int = None  # the release
    ended: int = None
    result: str = None
    last: int = None  # the last instruction under the lock
    deadline: int = None  # the last one that was known
    breaking: int = None  # when somebody first began to break it
    broken: int = None  # when such a break had succeeded, which no loss of data can have undone
    forgotten: int = 0  # until when a loss of data may have undone a break; 0: none
    grants: int = 0  # how often it was granted, and ended
    ends: int = 0
    events: list = dataclasses.field(default_factory=list)

    def believed(self):
        """Until when its owner may have acted as the holder."""
        limit = min(self.deadline or NEVER, self.breaking or NEVER)
        if self.begun is None and self.lost is None:  # it was killed
            return min(self.grant if self.last is None else self.last, limit)
        return min(self.begun or NEVER, self.lost or NEVER, limit)

    def __str__(self):
        return f"{self.who} turn {self.n}, token {self.token}"


@dataclasses.dataclass
class Violation:
    rule: str
    text: str
    turns: list  # whose events show it
    ns: int = 0  # for how long


# ---- Reading --------------------------------------------------------------------------------


def read_file(path):
    """Its events.  A process that was killed may leave half a line, its last."""
    lines = path.read_text(errors="replace").split("\n")
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError:
            if number < len(lines):
                raise ValueError(f"{path}:{number}: no event: {line!r}") from None


def read_last(path, events):
    """The last instructions of a process, which it kept in memory that outlived it."""
    turns = max((event.get("n", 0) for event in events if event.get("who") == path.stem), default=0)
    with open(path, "rb") as file:
        data = file.read(LAST.size * (turns + 1))
    for n, (when, deadline) in enumerate(LAST.iter_unpack(data)):
        if when:
            yield {"t": when, "e": "last", "who": path.stem, "n": n, "last": when,
                   "deadline": None if deadline in (0, NEVER) else deadline}


def read(folder):
    """All events of a folder, in order."""
    folder = pathlib.Path(folder)
    events = [event for path in folder.glob("*.jsonl") for event in read_file(path)]
    events += [event for path in folder.glob("*.last") for event in read_last(path, events)]
    events += [{"t": NEVER, "e": "set", "lock": path.stem, "elements": path.read_text().split()}
               for path in folder.glob("*.set")]
    return sorted(events, key=lambda event: event["t"])


def turns_of(events):
    """{(who, n): Turn}"""
    turns = {}
    for event in events:
        if "n" not in event:
            continue
        key = event["who"], event["n"]
        turn = turns.setdefault(key, Turn(*key))
        kind = event["e"]
        turn.events.append(event)
        if kind == "want":
            turn.want, turn.lock = event["t"], event["lock"]
            turn.weight, turn.capacity = event["weight"], event["capacity"]
        elif kind == "grant":
            turn.grant, turn.token, turn.requeued = event["t"], event["token"], event["requeued"]
            turn.deadline = event["deadline"]
        elif kind in ("place", "lost"):
            setattr(turn, kind, event["t"])
        elif kind == "last":
            turn.last, turn.deadline = event["last"], event["deadline"]
        elif kind == "release":
            turn.begun, turn.ended, turn.result = event["begun"], event["t"], event["result"]
        turn.grants += kind == "grant"
        turn.ends += kind in ("release", "died", "fail")
    for turn in turns.values():
        if turn.result is not None and turn.begun is None:
            turn.begun = turn.last  # of `holdfast run`: when its command had ended
    mark_breaks(turns.values(), events)
    return turns


def losses_of(events):
    """[(from, until, lease)], when the store may lose its data."""
    return [(event["t"], event["forgets"], event["lease"]) for event in events if "forgets" in event]


def undone(turn, at, losses):
    """Until when a loss may have undone a break of then; 0: none.  A holder that does not hear of the break within a
    lease has lost its session; and in the lease after a loss all come back that do."""
    return max((until + lease for begin, until, lease in losses
                if begin - lease <= at <= until and begin <= (turn.begun or NEVER)), default=0)


def mark_breaks(turns, events):
    """A break names a place by its token.  A waiter whose place was broken has a new one, with another token."""
    by_token, by_owner = {}, collections.defaultdict(list)
    begun, losses = {}, losses_of(events)
    for turn in turns:
        by_owner[turn.who, turn.lock].append(turn)
        if turn.token is not None:
            by_token.setdefault((turn.lock, turn.token), turn)
    for event in events:
        if event["e"] not in ("break", "broke"):
            continue
        turn = by_token.get((event["lock"], event["token"]))
        key = event["who"], event["lock"], event["token"]
        if event["e"] == "broke":
            if turn is not None and event["result"] == "0" and not undone(turn, begun[key], losses):
                turn.broken = turn.broken or event["t"]
        elif turn is not None:
            begun[key] = event["t"]
            turn.breaking = turn.breaking or event["t"]
            turn.forgotten = max(turn.forgotten, undone(turn, event["t"], losses))
        else:
            for waiter in by_owner[event["victim"], event["lock"]]:
                waiter.requeued |= waiter.want < event["t"] < (waiter.grant or 0)


# ---- Rules ----------------------------------------------------------------------------------


def overlaps(turns, until, rule, since=lambda turn: turn.grant):
    """Turns of one lock, from the grant, or `since(turn)`, until `until(turn)`: do they always fit?"""
    holders = []  # (until, number, turn)
    for number, turn in enumerate(sorted(turns, key=since)):
        while holders and holders[0][0] <= since(turn):
            heapq.heappop(holders)
        if until(turn) <= since(turn):
            continue
        inside = [other for _, _, other in holders]
        if inside and sum(t.weight for t in inside) + turn.weight > turn.capacity:
            by = min(until(turn), *map(until, inside)) - since(turn)
            yield Violation(rule, f"{turn} and " + " and ".join(map(str, inside))
                            + f" held it at the same time, for {by / 1e6:.3f} ms", [*inside, turn], by)
        heapq.heappush(holders, (until(turn), number, turn))


def check_tokens(turns):
    """Compare with the highest token of the turns that were granted before: before this one was
    wanted; or before it was granted, if the two exclude each other and each was valid then."""
    for turn, highest in after(turns, lambda turn: turn.want):
        if highest.token >= turn.token:
            yield Violation("tokens", f"{turn} was wanted after {highest} was granted", [highest, turn])
    valid = sorted((turn for turn in turns if turn.believed() > turn.grant), key=lambda turn: turn.grant)
    highest = {True: None, False: None}  # of those that exclude all others, and of all
    for turn in valid:
        alone = turn.weight >= turn.capacity
        before = highest[not alone]
        if before is not None and before.token >= turn.token and before.grant >= turn.want:
            yield Violation("tokens", f"{turn} was granted after {before}", [before, turn])
        for which in (False, True) if alone else (False,):
            highest[which] = max(highest[which] or turn, turn, key=lambda turn: turn.token)


def after(turns, when, first=lambda turn: turn.grant):
    """(turn, the one with the highest token of those whose `first` is before its `when`)"""
    earlier = sorted((turn for turn in turns if first(turn) is not None), key=first)
    highest, at = None, 0
    for turn in sorted(turns, key=when):
        while at < len(earlier) and first(earlier[at]) < when(turn):
            highest = max(highest or earlier[at], earlier[at], key=lambda turn: turn.token)
            at += 1
        if highest is not None:
            yield turn, highest


def check_order(turns, unordered):
    """A place that was known before another was wanted is ahead of it, and has the lower token.
    `unordered`: [(from, until)], when the store does not promise that."""
    for turn, highest in after(turns, lambda turn: turn.want,
                               lambda turn: None if turn.requeued else turn.place):
        if highest.token > turn.token and not any(begin <= turn.grant <= end for begin, end in unordered):
            yield Violation("order", f"{turn} was granted before {highest}, which had a place before",
                            [highest, turn])


def check_once(turns, ended):
    """`ended`: {who: when}, processes that are gone."""
    tokens = {}
    for turn in turns:
        if turn.grants > 1 or turn.ends > 1 or (turn.ends == 0 and turn.who not in ended):
            yield Violation("once", f"{turn} was granted {turn.grants} times, and ended {turn.ends} times", [turn])
        twin = tokens.setdefault(turn.token, turn)
        if twin is not turn and turn.token is not None:
            yield Violation("once", f"{turn} has the token of {twin}", [twin, turn])


def check_truth(turns):
    for turn in turns:
        if turn.result == "0" and turn.lost is not None:
            yield Violation("truth", f"{turn} was lost, and its release succeeded", [turn])
        elif turn.result == "0" and (turn.broken or NEVER) < turn.begun:
            yield Violation("truth", f"{turn} was broken, and its release succeeded", [turn])

    def until(turn):
        if turn.result == "0" and not turn.forgotten:
            return turn.begun
        return min(turn.believed(), turn.grant + 1)  # that it was granted is what counts

    yield from overlaps(turns, until, "truth")


def check_forgotten(turns):
    """A holder whose break was lost with the data may come back, and is the holder from then on: another one that held
    the lock is told that it has lost it, and nobody is granted it."""
    def until(turn):
        return turn.begun if turn.result == "0" else min(turn.believed(), turn.grant + 1)

    for violation in overlaps(turns, until, "truth", lambda turn: max(turn.grant, turn.forgotten)):
        if any(turn.forgotten for turn in violation.turns):
            yield violation


def check_fence(turns, events):
    """Writes of one lock, in the order of the protected file."""
    by_key = {(turn.who, turn.n): turn for turn in turns}
    highest, refused = None, set()
    for event in sorted((e for e in events if e["e"] == "write" and (e["who"], e["n"]) in by_key),
                        key=lambda event: event["number"]):
        turn = by_key[event["who"], event["n"]]
        pair = [turn] if highest is None else [highest, turn]
        if event["ok"] and highest is not None and turn.token < highest.token:
            yield Violation("fence", f"{turn} wrote after {highest}", pair)
        elif event["ok"]:
            highest = turn
        elif event["t"] < turn.believed() and event["who"] + str(event["n"]) not in refused:
            refused.add(event["who"] + str(event["n"]))
            yield Violation("fence", f"{turn} was refused while it held the lock", pair)


def missing(events):
    """Additions that were acknowledged, and whose element is not in the set at the end."""
    sets = {event["lock"]: set(event["elements"]) for event in events if event["e"] == "set"}
    return [event for event in events if event["e"] == "add" and event["ok"]
            and event["element"] not in sets.get(event["lock"], ())]


def check_set(turns, events):
    """Without a fence an addition may be lost, by a holder that writes after its deadline."""
    for event in missing(events):
        if event["fenced"]:
            mine = [turn for turn in turns if (turn.who, turn.n) == (event["who"], event["n"])]
            yield Violation("set", f"{event['element']} was added to {event['lock']}, and is not there", mine)


def check_stuck(turns, events):
    """Every process that was there from the last heal to the end was granted something."""
    healed = [event["t"] for event in events if event["e"] == "healed"]
    if not healed:
        return
    granted = collections.defaultdict(int)
    for turn in turns:
        granted[turn.who] = max(granted[turn.who], turn.grant or 0)
    for event in events:
        if event["e"] == "waited" and granted[event["on"]] < healed[-1]:
            mine = [turn for turn in turns if turn.who == event["on"]]
            yield Violation("stuck", f"{event['on']} gets no lock, though all faults are over", mine[-1:])


def check_crash(turns, events):
    for event in events:
        if event["e"] == "crash":
            mine = [turn for turn in turns if turn.who == event["who"]]
            yield Violation("crash", f"{event['who']} ended: {event['status']} {event.get('said', '')}", mine[-1:])


def check_left(events):
    for event in events:
        if event["e"] == "left":
            yield Violation("left", event["text"], [])


def check(events):
    """Returns violations."""
    every = list(turns_of(events).values())
    ended = {event["who"]: event["t"] for event in events if event["e"] == "end"}
    unordered = [(event["t"], event["unordered"]) for event in events if "unordered" in event]
    found = [*check_crash(every, events), *check_stuck(every, events), *check_set(every, events),
             *check_left(events)]
    locks = collections.defaultdict(list)
    for turn in every:
        if turn.grant is not None:
            locks[turn.lock].append(turn)
    for turns in locks.values():
        found += overlaps(turns, Turn.believed, "overlap")
        found += check_truth(turns)
        found += check_forgotten(turns)
        found += check_once(turns, ended)
        turns = [turn for turn in turns if turn.token is not None]
        found += check_tokens(turns)
        found += check_order(turns, unordered)
        found += check_fence(turns, events)
    return found


def main():
    import figures  # it needs us

    if len(sys.argv) != 2:
        sys.exit(__doc__)
    events = read(sys.argv[1])
    violations = check(events)
    rows = {sys.argv[1]: figures.sum_up(events, violations)}
    print("\n".join([*figures.report(violations), *figures.table(rows)]))
    return 1 if violations or not events else 0


if __name__ == "__main__":
    sys.exit(main())
