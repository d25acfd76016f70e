"""story - forged histories, for tests of check.py."""
import check
import figures

MS = 1000000
SHAPES = {"mutex": (1, 1), "reader": (1, check.ALL), "writer": (check.ALL, check.ALL),
          "semaphore": (1, 3), "heavy": (2, 3)}
CASES = []


def case(function):
    CASES.append(function)
    return function


class Story:
    """A history that is told in ms."""

    def __init__(self):
        self.events = []
        self.writes = 0

    def add(self, at, event, who, **more):
        self.events.append({"t": int(at * MS), "e": event, "who": who} | more)
        return self

    def turn(self, who, n, want, grant, token, release, *, kind="mutex", result="0", place=None,
             deadline=None, requeued=False, last=None, lost=None, lock="a", writes=()):
        """`release`: when it began, None: it was killed; `last`: its last instruction."""
        weight, capacity = SHAPES[kind]
        end = None if deadline is None else int(deadline * MS)
        self.add(want, "want", who, n=n, lock=lock, kind=kind, weight=weight, capacity=capacity)
        if place is not None:
            self.add(place, "place", who, n=n)
        self.add(grant, "grant", who, n=n, token=token, deadline=end, requeued=requeued)
        for at in writes:
            self.write(at, who, n, token)
        if lost is not None:
            self.add(lost, "lost", who, n=n)
        if release is not None:
            self.add(release + 0.5, "release", who, n=n, begun=int(release * MS), result=result)
        last = last if last is not None else release if release is not None else grant
        return self.add(last, "last", who, n=n, last=int(last * MS), deadline=end)

    def write(self, at, who, n, token, ok=True):
        self.writes += 1
        return self.add(at, "write", who, n=n, begun=int(at * MS), token=token, number=self.writes, ok=ok)

    def change(self, at, who, n, fenced=True, ok=True, lock="a"):
        """It adds an element to a set."""
        return self.add(at, "add", who, n=n, lock=lock, element=f"{who}/{n}", fenced=fenced, ok=ok)

    def set(self, *elements, lock="a"):
        """At the end."""
        self.events.append({"t": check.NEVER, "e": "set", "lock": lock, "elements": list(elements)})
        return self

    def breaks(self, at, token, victim, *, ended=None, result="0", lock="a"):
        """D breaks a place."""
        self.add(at, "break", "D", lock=lock, token=token, victim=victim)
        return self.add(ended or at + 0.5, "broke", "D", lock=lock, token=token, result=result)

    def end(self, at, *processes):
        for who in processes:
            self.add(at, "end", who, status=0)
        return self

    def violations(self):
        return check.check(sorted(self.events, key=lambda event: event["t"]))

    def rules(self):
        return sorted({violation.rule for violation in self.violations()})


def good():
    """Three turns, the second and third in the queue."""
    return (Story().turn("A", 1, 0, 1, 10, 9, writes=(2, 8), deadline=100)
            .turn("B", 1, 3, 10, 11, 20, place=4, writes=(11,), deadline=100)
            .turn("C", 1, 5, 21, 12, 30, place=6, deadline=100).end(40, "A", "B", "C"))


def equal(got, want):
    assert got == want, f"{got!r}, not {want!r}"


def finds(story, *rules):
    equal(story.rules(), sorted(rules))
    text = "\n".join(figures.report(story.violations()))
    for rule in rules:
        assert f"{rule}: " in text, text


def main():
    failed = 0
    for number, test in enumerate(CASES, 1):
        try:
            test()
            print(f"ok {number} - {test.__name__}")
        except AssertionError as error:
            failed += 1
            print(f"not ok {number} - {test.__name__}\n# {error}")
    print(f"1..{len(CASES)}")
    return 1 if failed else 0
