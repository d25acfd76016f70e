#!/usr/bin/env -S python3 -B
"""cron.py - README's line for a crontab, read by a real cron, in a file system of its own."""
import re
from hf import *

README = pathlib.Path(__file__).resolve().parent.parent.parent / "README.md"
# cron reads what it finds in these; and /root is the home of the job.
SETUP = '''set -e
for folder in /run /var/spool/cron /etc/cron.d /usr/local/bin /root; do mount -t tmpfs none $folder; done
mkdir -m 1730 /var/spool/cron/crontabs; chgrp crontab /var/spool/cron/crontabs
mount --bind /dev/null /etc/crontab
touch /usr/local/bin/holdfast; mount --bind "$HF" /usr/local/bin/holdfast
cp "$D/backup.sh" /usr/local/bin/; install -m 600 "$D/crontab" /var/spool/cron/crontabs/root
exec cron -f
'''


def line():
    """README's second line for a crontab; at once, not at night."""
    lines = re.findall(r"^0 3 \* \* \*  (.*)$", README.read_text(), re.M)
    return f"@reboot {lines[1]}"


def start_cron(t, *lines):
    if os.geteuid() != 0 or not shutil.which("cron"):
        raise Skip("needs root and cron")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("no namespaces here")
    t.path("crontab").write_text("\n".join(['MAILTO=""', f"D={t.folder}", *lines]) + "\n")
    t.path("backup.sh").write_text("#!/bin/sh\necho backup $$ $PATH >>$D/ran\nwhile ! [ -e $D/end ]; do sleep 0.02; done\n")
    t.path("backup.sh").chmod(0o755)
    # With a name for processes of its own, all of it ends with it.
    process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                                "sh", "-c", SETUP], env=t.env, stdin=subprocess.DEVNULL)
    t.started.append(process)
    return process


def ran(t):
    path = t.path("ran")
    return path.read_text().splitlines() if path.exists() else []


@case
def the_line_runs_and_the_second_gives_up(t):
    again = line().replace("@reboot", "@reboot while ! [ -e $D/ran ]; do sleep 0.02; done;")
    cron = start_cron(t, line(), f"{again} >$D/said 2>&1; echo $? >$D/second.new; mv $D/second.new $D/second")
    t.until("the second has given up", lambda: t.path("second").exists())
    t.equal((t.path("second").read_text(), t.path("said").read_text()), ("0\n", ""))
    t.equal(len(ran(t)), 1, "backups")
    t.true("/usr/local/bin" not in ran(t)[0], f"this cron looks there: {ran(t)}")
    t.path("end").touch()
    cron.kill()
    cron.wait()


@case
def without_the_path_it_is_not_found(t):
    bare = line().replace("/usr/local/bin/holdfast", "holdfast")
    cron = start_cron(t, f"{bare} 2>$D/err; echo $? >$D/code.new; mv $D/code.new $D/code")
    t.until("cron has tried", lambda: t.path("code").exists())
    t.equal(t.path("code").read_text(), "127\n")
    cron.kill()
    cron.wait()


main()
