"""figures - what `make chaos` prints of a history: violations, and a table."""
import bisect
import collections

import check

SHOWN = 5  # violations of each rule that are printed


def show(violation):
    """The fewest events that show it."""
    shown = [event for turn in violation.turns for event in turn.events if event["e"] != "write"]
    if violation.rule == "fence":  # and the first write of each
        shown += [event for turn in violation.turns for event in
                  [event for event in turn.events if event["e"] == "write"][:1]]
    shown.sort(key=lambda event: event["t"])
    start = shown[0]["t"] if shown else 0
    yield f"{violation.rule}: {violation.text}"
    for event in shown:
        rest = {key: value for key, value in event.items() if key not in ("t", "e", "who", "n")}
        for name in ("begun", "last", "deadline"):
            if isinstance(rest.get(name), int):
                rest[name] = f"{(rest[name] - start) / 1e6:+.3f}"
        more = " ".join(f"{key}={value}" for key, value in rest.items())
        yield f"    {(event['t'] - start) / 1e6:12.3f} ms  {event['who']}/{event['n']} {event['e']} {more}"


def percentile(values, part):
    values = sorted(values)
    return values[min(int(len(values) * part), len(values) - 1)] if values else None


def recoveries(events, turns):
    """From each fault to the next grant of a lock that it concerns, ns.  Holders of a set pause, whatever
    happens: they are left out."""
    sets = {event["lock"] for event in events if event["e"] == "add"}
    grants = sorted((turn.grant, turn.lock) for turn in turns)
    times = [grant for grant, _ in grants]
    for event in events:
        if event["e"] != "fault":
            continue
        begin = event.get("until") or event["t"]
        concerned = {turn.lock for turn in turns if turn.who == event["on"]
                     and turn.grant <= event["t"] < turn.believed()}
        if concerned & sets:
            continue
        at = bisect.bisect(times, begin)
        while at < len(grants) and concerned and grants[at][1] not in concerned:
            at += 1
        if at < len(grants):
            yield grants[at][0] - begin


def margins(turns):
    """Of hand-overs of mutexes whose old holder did not release it, and was not broken: the next grant minus
    the last instruction of the old holder, ns."""
    turns = sorted((turn for turn in turns if turn.capacity == 1), key=lambda t: (t.lock, t.grant))
    for old, new in zip(turns, turns[1:]):
        if old.lock == new.lock and old.result != "0" and old.last is not None and old.breaking is None:
            yield new.grant - old.last


def sum_up(events, violations):
    """Figures of one history, for the table."""
    turns = [turn for turn in check.turns_of(events).values() if turn.grant is not None]
    locks = collections.Counter(turn.lock for turn in turns)
    return {
        "faults": collections.Counter(event["kind"] for event in events if event["e"] == "fault"),
        "grants": len(turns),
        "breaks": sum(event["e"] == "broke" and event["result"] == "0" for event in events),
        "of holders": sum(turn.broken is not None for turn in turns),
        "canceled": sum(event["e"] == "fail" and event["result"] == "HF_ECANCELED" for event in events),
        "queries": sum(event.get("times", 0) for event in events),
        "hand-overs": sum(count - 1 for count in locks.values()),
        "lost": sum(turn.lost is not None for turn in turns),
        "refused": sum(event["e"] == "write" and not event["ok"] for event in events),
        "added": sum(event["e"] == "add" and event["ok"] and not event["fenced"] for event in events),
        "missing": sum(not event["fenced"] for event in check.missing(events)),
        "added with a fence": sum(event["e"] == "add" and event["ok"] and event["fenced"] for event in events),
        "violations": collections.Counter(violation.rule for violation in violations),
        "margin": min(margins(turns), default=None),
        "recovery": list(recoveries(events, turns)),
    }


def line(row):
    """Of one store, for people who read no table."""
    faults = ", ".join(f"{kind} {count}" for kind, count in sorted(row["faults"].items()))
    queries = f" ({row['queries']} queries)" if row["queries"] else ""
    return (f"{row['grants']} grants, {row['canceled']} waits canceled, {row['breaks']} breaks "
            f"({row['of holders']} of holders), {sum(row['violations'].values())} violations, "
            f"{sum(row['faults'].values())} faults: {faults}{queries}")


def add_up(rows):
    """Of several stores."""
    rows = list(rows)
    total = {name: sum((row[name] for row in rows), type(rows[0][name])()) for name in rows[0]
             if name != "margin"}
    return total | {"margin": min((row["margin"] for row in rows if row["margin"] is not None), default=None)}


def ms(value):
    return "-" if value is None else f"{value / 1e6:.1f}"


def table(rows):
    """`rows`: {store: sum_up()}"""
    yield ("| store | faults | hand-overs | breaks | lost | writes refused by the fence | elements of sets lost, without "
           "a fence | with one | violations | worst margin, ms | recovered in, ms: p50 | p99 |")
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    if len(rows) > 1:
        rows = rows | {"all": add_up(rows.values())}
    for store, row in rows.items():
        faults = ", ".join(f"{kind} {count}" for kind, count in sorted(row["faults"].items()))
        yield (f"| {store} | {sum(row['faults'].values())}: {faults} | {row['hand-overs']} | "
               f"{row['breaks']} | {row['lost']} | {row['refused']} | {row['missing']} of {row['added']} | "
               f"{row['violations']['set']} of {row['added with a fence']} | {sum(row['violations'].values())} | "
               f"{ms(row['margin'])} | {ms(percentile(row['recovery'], 0.5))} | "
               f"{ms(percentile(row['recovery'], 0.99))} |")


def report(violations):
    count = collections.Counter()
    for violation in violations:
        count[violation.rule] += 1
        if count[violation.rule] <= SHOWN:
            yield from show(violation)
    for rule, number in count.items():
        if number > SHOWN:
            yield f"{rule}: {number - SHOWN} more"
