"""peers.py - processes with locks of Curator, kazoo and Holdfast in one queue.

    from peers import *

    @case
    def they_exclude_each_other(t):
        scene = Scene(t)
        holder = scene.peer("curator", "hold")
        holder.until_says("held")
        ...

    play()

Each case has a folder of its own on one server; its processes are peers, which print
what they do (see CuratorPeer.java).  Cases are written as those of the
command: see test/cli/hf.py.
"""
import random
import subprocess
import sys

sys.path.append(f"{sys.path[0]}/../server")
from command import *  # noqa: E402,F403
import curator  # noqa: E402
import zkwire  # noqa: E402
import zookeeper  # noqa: E402

PYTHON = "/usr/bin/python3"  # kazoo is installed for the system's
SESSION = 12  # seconds: none expires on a busy machine
SHORT = 3  # seconds, for peers that are killed
PATIENCE = 60  # seconds; a JVM takes a moment to start
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

server = None  # of all cases


class Peer:
    """A process that has a lock, waits for it, or takes turns."""

    def __init__(self, scene, kind, argv):
        test = scene.test
        self.test, self.kind = test, kind
        self.out = test.path(f"{len(test.started)}-{kind}.out")
        self.err = self.out.with_suffix(".err")
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(argv, env=test.env, stdin=subprocess.PIPE,
                                            stdout=out, stderr=err)
        test.started.append(self.process)

    def lines(self):
        return self.out.read_text().splitlines()

    def said(self, word):
        return word in self.lines()

    def complaint(self):
        text = self.err.read_text().strip().splitlines()
        return text[-1] if text else "nothing on stderr"

    def until_says(self, word):
        """Wait until it has printed the word."""
        def there():
            ended = self.process.poll() is not None  # first: it may print the word and then end
            if self.said(word):
                return True
            self.test.true(not ended,
                           f"{self.kind} ended and never said {word}: {self.complaint()}")
            return False
        self.test.until(f"{self.kind} says {word}", there, PATIENCE)

    def tell(self):
        """Send an empty line: begin, or take the next step."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def release(self):
        self.process.stdin.close()
        self.until_says("released")
        self.ends()

    def ends(self):
        code = self.process.wait(PATIENCE)
        self.test.equal(code, 0, f"exit code of {self.kind} ({self.complaint()})")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Scene:
    """One lock, "a", in a folder of its own, and its users."""

    def __init__(self, test, style=None):
        self.test, self.style = test, style
        chroot = f"/{random.getrandbits(64):016x}"
        self.folder = f"{chroot}/a"
        self.address = f"{server.address}{chroot}"
        test.env["HOLDFAST_URL"] = self.url(SESSION)
        test.env.update(STYLE=style or "")
        with zkwire.Client(server.address) as zk:
            zk.ensure(chroot)

    def url(self, session):
        style = f"&style={self.style}" if self.style else ""
        return f"zk://{self.address}?session={session}s{style}"

    def peer(self, kind, mode, *args, session=SESSION):
        self.test.env["SESSION"] = str(session)
        if kind == "holdfast":
            argv = [str(BUILD / "test/interop/peer"), mode, self.url(session), "a"]
        elif kind == "kazoo":
            argv = [PYTHON, "-B", str(ROOT / "test/interop/kazoo_peer.py"), mode, self.address, "/a"]
        else:
            java = curator.command("test/interop/CuratorPeer.java", BUILD, "-Xmx64m",
                                   "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                                   f"-Dsession={session * 1000}")
            argv = [*java, mode, self.address, "/a"]
        return Peer(self, kind, [*argv, *map(str, args)])

    def can(self, kind, mode):
        """Does a try of this kind succeed?"""
        peer = self.peer(kind, mode)
        code = peer.process.wait(PATIENCE)
        self.test.true(code in (0, 1), f"{mode} of {kind}: {peer.complaint()}")
        return code == 0

    def nodes(self):
        """The names in the lock's folder, first come first."""
        with zkwire.Client(server.address) as zk:
            if zk.exists(self.folder) is None:
                return []
            return sorted(zk.children(self.folder), key=lambda name: name[-10:])

    def node(self, name):
        """(data, Stat)"""
        with zkwire.Client(server.address) as zk:
            return zk.data(f"{self.folder}/{name}")

    def joins(self, kind, mode="hold", **more):
        """Start a peer and wait until it is the last in line."""
        before = len(self.nodes())
        peer = self.peer(kind, mode, **more)
        self.test.until(f"{kind} is in line", lambda: len(self.nodes()) > before, PATIENCE)
        return peer

    def holds(self, kind, mode="hold", **more):
        peer = self.peer(kind, mode, **more)
        peer.until_says("held")
        return peer

    def nobody_else(self, peers, seconds=0.3):
        """For a while, none of these holds the lock."""
        end = hf.time.monotonic() + seconds
        while hf.time.monotonic() < end:
            for peer in peers:
                self.test.true(not peer.said("held"),
                               f"{peer.kind} has it too: {self.nodes()}")
            hf.time.sleep(0.02)

    def gone_before_held(self, place, waiters):
        """Wait until these have the lock, none of them while the place of the dead peer exists."""
        looks = 0

        def all_held():
            nonlocal looks
            held = [peer.said("held") for peer in waiters]
            there = place in self.nodes()
            self.test.true(not (there and any(held)), f"held while {place} still exists")
            looks += there
            return all(held)
        self.test.until("they have it", all_held, PATIENCE)
        self.test.true(looks > 0, "the session of the dead peer ended at once")

    def numbers(self, *values):
        """A file with numbers, for turns and rw."""
        path = self.test.path("numbers")
        path.write_text("".join(f"{value:019d}\n" for value in values))
        return path

    def together(self, peers):
        """Let all begin at the same moment; returns the count of each."""
        for peer in peers:
            peer.until_says("ready")
        for peer in peers:
            peer.tell()
        for peer in peers:
            peer.ends()
        return [int(peer.lines()[-1].split()[1]) for peer in peers]


def play():
    global server
    with store("zk"):
        curator.command("test/interop/CuratorPeer.java", BUILD)
        if subprocess.run([PYTHON, "-c", "import kazoo"], stderr=subprocess.DEVNULL).returncode != 0:
            raise zookeeper.Missing(f"no kazoo for {PYTHON}")
        with zookeeper.standalone(config={"maxSessionTimeout": SESSION * 1000}) as server:
            hf.main()
