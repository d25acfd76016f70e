"""scenarios - the scenarios: "S3:16@5" is scenario 3 with 16 sessions that hold for 5 ms."""
import re

HANDS = 300  # of S8
STARTS = 3  # of S6, in each round
IDLE = 3.0  # seconds of S7
NAMES = {
    "S1": "a free lock, release awaited", "S1+": "a free lock, release not awaited",
    "S2": "threads of one session, a lock each", "S3": "sessions take turns on one lock",
    "S4": "waiters of one process", "S5": "sessions, 90 % readers",
    "S6": "a fresh process until its first lock", "S7": "waiters, nothing happens",
    "S8": "wait in line, a hand-over", "S9": "sessions, a lock each",
}
SHORT = ["S1", "S1+", "S2:16", "S3:2", "S3:16", "S3:64", "S3:2@1", "S3:16@1", "S3:16@5",
         "S4:1000", "S5:16", "S6", "S7:1000", "S8:10", "S8:100", "S8:1000", "S8:10000", "S9:8"]
ALL = SHORT + ["S3:8", "S3:8@1", "S3:64@1", "S3:2@5", "S3:64@5", "S9:1", "S9:32", "S9:128"]
NEAR = {"S6", "S7", "S8"}  # of these lists, only at the first of several distances


class Scenario:
    def __init__(self, text):
        match = re.fullmatch(r"(S\d\+?)(?::(\d+))?(?:@([\d.]+))?", text)
        if match is None or match[1] not in NAMES:
            raise ValueError(f"there is no scenario {text}")
        self.text, self.kind = text, match[1]
        self.count, self.hold = int(match[2] or 1), float(match[3] or 0)

    def of_one(self):
        """The request to one of several processes."""
        return f"{self.kind}:1" + (f"@{self.hold:g}" if self.hold else "")

    def size(self, seconds):
        return {"S4": self.count, "S6": STARTS, "S7": 0, "S8": HANDS}.get(self.kind, seconds)

    def rounds(self, rounds):
        """Long scenarios, and those that only count, do not run in every round."""
        most = 1 if self.kind == "S7" or self.count >= 10000 else rounds if self.is_timed() else 3
        return min(most, rounds)

    def takes(self, seconds):
        """About how long a side's turn takes."""
        return {"S4": 2.0, "S6": STARTS * 0.3, "S7": IDLE + 2.0,
                "S8": 1.0 + self.count / 1000}.get(self.kind, seconds + 0.1)

    def is_timed(self):
        return self.kind not in ("S4", "S6", "S7", "S8")
