"""stage.py - a machine to make pictures on, in namespaces, without root.

There the user is ana with the home /home/ana, the machine is web1, process numbers start at 4240, and there
is no network.  So pictures show the names of all our examples, and nothing of the real machine.

    if stage.is_set():
        ...                     the work
    else:
        stage.enter(prepare)    prepare(folder) fills the folder that becomes /home
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
    """Are we on the stage?"""
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
    """Runs this program again on the stage; returns its output."""
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
    """Copies a program into the search path of ENV."""
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
    """A command as another user on another machine."""
    return ["unshare", "--mount", "--uts", "sh", "-c", AS, "sh", passwd(user), host, *command]


ENV = {"PATH": f"{HOME}/bin:/usr/bin:/bin:/usr/sbin", "HOME": str(HOME), "LC_ALL": "C.UTF-8"}
