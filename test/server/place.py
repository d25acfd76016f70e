"""place - where a server of a test lives: its ports, its folder, its life."""
import contextlib
import fcntl
import os
import pathlib
import random
import shutil
import socket
import tempfile


def reserve_port():
    """A socket that keeps a port of 127.0.0.1 for a server of ours.

    It is bound, never listens, and lets others bind with SO_REUSEADDR, as the server
    does: the port stays ours while the server is down.  It is none that the kernel gives
    to outgoing connections, or a client that tries again and again could connect to
    itself."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(1000):
        port = random.randrange(first - 16000, first) if first > 20000 else 0
        keeper = socket.socket()
        try:
            keeper.bind(("127.0.0.1", port))
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            return keeper
        except OSError:
            keeper.close()
    raise OSError("no free port")


def make_folder():
    """A folder in memory, and the lock that says it is in use."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    for old in pathlib.Path(base).glob("hfzk.*"):
        remove_stale(old)
    new = pathlib.Path(tempfile.mkdtemp(prefix=".hfzk.", dir=base))
    lock = os.open(new / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    folder = new.rename(new.with_name(new.name[1:]))  # locked before it can be found
    return folder, lock


def remove_stale(folder):
    """What somebody left who was killed: nobody holds its lock any more."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        return
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def dying_with_us(argv, signal="KILL"):
    """The same command, killed when the calling thread ends; and not run at all if that
    was before the kernel knew."""
    check = 'test "$PPID" = "$0" && exec "$@"'
    return ["setpriv", "--pdeathsig", signal, "sh", "-c", check, str(os.getpid()), *argv]
