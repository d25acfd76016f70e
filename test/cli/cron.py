#!/usr/bin/env -S python3 -B
"""cron.py - the lines for a crontab in docs/jobs.md, read by a real cron, in a file
system of its own."""
import re
from hf import *

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# cron reads what it finds in these; and /root is the home of the job.
SETUP = '''set -e
for folder in /run /var/spool/cron /etc/cron.d /usr/local/bin /root; do mount -t tmpfs none $folder; done
mkdir -m 1730 /var/spool/cron/crontabs; chgrp crontab /var/spool/cron/crontabs
mount --bind /dev/null /etc/crontab
touch /usr/local/bin/holdfast; mount --bind "$HF" /usr/local/bin/holdfast
cp "$D/backup.sh" "$D/report.sh" /usr/local/bin/; install -m 600 "$D/crontab" /var/spool/cron/crontabs/root
eval "$MORE"
exec cron -f
'''
# A user ana, in the group that shares the locks of the machine, with a crontab of her own.
ANA = '''mount -t tmpfs -o mode=755 none /var/lib
{ cat /etc/passwd; echo 'ana:*:20001:20001::/:/bin/sh'; } >/var/lib/passwd
{ grep -v ^holdfast: /etc/group; echo 'holdfast:x:20000:ana'; } >/var/lib/group
for name in passwd group; do mount --bind /var/lib/$name /etc/$name; done
"$HF" init --system >$D/said
install -m 600 -o ana "$D/crontab.ana" /var/spool/cron/crontabs/ana
'''


def line(number):
    """A line for a crontab; at once, not at night."""
    lines = re.findall(r"^0 [34] \* \* \*  (.*)$", (ROOT / "docs/jobs.md").read_text(), re.M)
    return f"@reboot {lines[number]}"


def start_cron(t, *lines, more=""):
    if os.geteuid() != 0 or not shutil.which("cron"):
        raise Skip("needs root and cron")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("no namespaces here")
    t.path("crontab").write_text("\n".join(['MAILTO=""', f"D={t.folder}", *lines]) + "\n")
    t.path("backup.sh").write_text("#!/bin/sh\necho backup $$ $PATH >>$D/ran\nwhile ! [ -e $D/end ]; do sleep 0.02; done\n")
    t.path("report.sh").write_text("#!/bin/sh\necho $$ >>$D/ran\n")
    for name in ("backup.sh", "report.sh"):
        t.path(name).chmod(0o755)
    # With a name for processes of its own, all of it ends with it.
    process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                                "sh", "-c", SETUP], env=dict(t.env, MORE=more), stdin=subprocess.DEVNULL)
    t.started.append(process)
    return process


def ran(t):
    path = t.path("ran")
    return path.read_text().splitlines() if path.exists() else []


def second_gives_up(t, job, *more, after="[ -e $D/ran ]", then=":"):
    """The same line twice; the second comes when the first has run so far."""
    again = job.replace("@reboot", f"@reboot while ! {after}; do sleep 0.02; done; {then};")
    cron = start_cron(t, *more, job, f"{again} >$D/said 2>&1; echo $? >$D/second.new; mv $D/second.new $D/second")
    t.until("the second has given up", lambda: t.path("second").exists())
    t.equal((t.path("second").read_text(), t.path("said").read_text()), ("0\n", ""))
    t.equal(len(ran(t)), 1, "times that the job ran")
    return cron


def end(cron):
    cron.kill()
    cron.wait()


@case
def the_line_runs_and_the_second_gives_up(t):
    cron = second_gives_up(t, line(0))
    t.true("/usr/local/bin" not in ran(t)[0], f"this cron looks there: {ran(t)}")
    end(cron)


@case
def a_machine_whose_clock_is_late_does_not_run_it_again(t):
    """The job is over when the second comes, but the lock is kept."""
    text = (ROOT / "docs/jobs.md").read_text()
    t.equal(re.findall(r"^HOLDFAST_URL=.*$", text, re.M), ["HOLDFAST_URL=redis://locks.example.org"])
    over = "{ [ -s $D/ran ] && ! kill -0 $(cat $D/ran) 2>&-; }"
    free = "/usr/local/bin/holdfast wait -w 0.5 report 2>&-"  # it would be, were it not kept
    end(second_gives_up(t, line(1), f"HOLDFAST_URL={t.env['HOLDFAST_URL']}",
                        after=over, then=free))


@case
def two_users_exclude_each_other(t):
    """Root's backup, and ana's report, which is to come at the same time, and waits."""
    roots, anas = re.findall(r"^30 5 \* \* \*  (.*)$", (ROOT / "docs/jobs.md").read_text(), re.M)
    t.folder.chmod(0o777)
    t.path("ran").touch()
    t.path("ran").chmod(0o666)
    begun = "while ! [ -s $D/ran ]; do sleep 0.02; done;"
    t.path("crontab.ana").write_text(
        f'MAILTO=""\nD={t.folder}\n@reboot {begun} {anas}\n'
        f"@reboot {begun} /usr/local/bin/holdfast try -q --system tape true; echo $? >$D/tried\n")
    cron = start_cron(t, f"@reboot {roots}", more=ANA)
    t.until("ana has tried", lambda: t.path("tried").exists() and t.path("tried").read_text())
    t.equal(t.path("tried").read_text(), "75\n")
    t.equal(len(ran(t)), 1, f"jobs that ran: {ran(t)}")
    t.path("end").touch()
    t.until("it is ana's turn", lambda: len(ran(t)) == 2)
    end(cron)
    t.folder.chmod(0o700)


@case
def without_the_path_it_is_not_found(t):
    bare = line(0).replace("/usr/local/bin/holdfast", "holdfast")
    cron = start_cron(t, f"{bare} 2>$D/err; echo $? >$D/code.new; mv $D/code.new $D/code")
    t.until("cron has tried", lambda: t.path("code").exists())
    t.equal(t.path("code").read_text(), "127\n")
    end(cron)


main()
