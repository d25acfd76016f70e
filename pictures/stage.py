"""stage.py - a machine of our own to make pictures on, in namespaces: no root is needed.

There the user is called ana and her home is /home/ana, the machine is called web1, processes
are counted from 4240 on, and no other machine can be reached.  So pictures show the names
that all our examples have, and nothing of the machine that they are made on.

    if stage.is_set():
        ...what is to be done there...
    else:
        stage.enter(prepare)    a function that gets the folder which /home will be
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HOME = pathlib.Path("/home/ana")
FOLDER = "HF_STAGE"
FIRST_PID = "4240"
AS = """mount --bind "$1" /etc/passwd && hostname "$2" && shift 2 && exec "$@" """


def is_set():
    """Are we there?  If so, the names are as told above."""
    if FOLDER not in os.environ:
        return False
    folder = pathlib.Path(os.environ[FOLDER])
    subprocess.run(["mount", "--bind", folder, HOME.parent], check=True)
    subprocess.run(["mount", "--bind", passwd("ana"), "/etc/passwd"], check=True)
    subprocess.run(["hostname", "web1"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(FIRST_PID)
    os.chdir(HOME)
    return True


def enter(prepare):
    """Begin this program again there; returns what it wrote."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hf-stage-"))
    command = ["unshare", "--user", "--map-root-user", "--mount", "--uts", "--net", "--pid",
               "--fork", "--mount-proc", "--kill-child", sys.executable, "-B", *sys.argv]
    try:
        (folder / HOME.name).mkdir()
        prepare(folder / HOME.name)
        return subprocess.run(command, env={**os.environ, FOLDER: str(folder)}, check=True,
                              stdout=subprocess.PIPE).stdout
    finally:
        shutil.rmtree(folder)


def bring(home, program):
    """Take a program along, into the search path of ENV."""
    (home / "bin").mkdir(exist_ok=True)
    shutil.copy(program, home / "bin")


def script(home, name, text):
    (home / name).write_text(text)
    (home / name).chmod(0o755)


def passwd(user):
    path = HOME.parent / f"passwd.{user}"
    path.write_text(f"{user}:x:0:0::{HOME}:/bin/bash\n")
    return path


def as_user(user, host, command):
    """The command of another user on another machine."""
    return ["unshare", "--mount", "--uts", "sh", "-c", AS, "sh", passwd(user), host, *command]


ENV = {"PATH": f"{HOME}/bin:/usr/bin:/bin:/usr/sbin", "HOME": str(HOME), "LC_ALL": "C.UTF-8"}
