"""relay - simulates a distance between clients and a server; see relay/delay.c."""
from peer import Peer


class Relay(Peer):
    """`round_trip` in milliseconds."""

    def __init__(self, build, port, round_trip):
        super().__init__([build / "bench/relay/delay", port, f"{round_trip * 500:g}"])
        self.port = int(self.hear(10)[0])

    def counts(self):
        """What went through since the last call."""
        trips, segments, size = (int(word) for word in self.ask("?"))
        return {"trips": trips, "segments": segments, "bytes": size}
