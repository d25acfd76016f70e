"""sandbox - a port and a folder for a server of a test, and a command that makes it die with us."""
import contextlib
import fcntl
import os
import pathlib
import random
import shutil
import socket
import tempfile


def reserve_port():
    """A socket that reserves a port of 127.0.0.1 for a server.

    It is bound, never listens, and lets others bind with SO_REUSEADDR, as the server does: the port
    stays ours while the server is down.  The port is not one that the kernel gives to outgoing
    connections, or a client that retries could connect to itself."""
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
    """A folder in memory, and a lock that shows that it is in use."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    for old in pathlib.Path(base).glob("hfzk.*"):
        remove_stale(old)
    new = pathlib.Path(tempfile.mkdtemp(prefix=".hfzk.", dir=base))
    lock = os.open(new / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    folder = new.rename(new.with_name(new.name[1:]))  # locked before others can find it
    return folder, lock


def remove_stale(folder):
    """Remove a folder of a killed process: its lock is free."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        return
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def dying_with_us(argv, signal="KILL"):
    """The same command, killed when the calling thread ends; it does not run at all if that thread
    has ended already."""
    check = 'test "$PPID" = "$0" && exec "$@"'
    return ["setpriv", "--pdeathsig", signal, "sh", "-c", check, str(os.getpid()), *argv]
