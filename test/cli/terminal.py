#!/usr/bin/env -S python3 -B
"""terminal.py - Ctrl-C, Ctrl-Z and reading, at an interactive shell."""
from hf import *
from shell import *


def held(t, name="up"):
    return lambda: t.path(name).exists()


def start(t, shell, script, tail=""):
    """Run a script under the lock at the shell; returns its pid."""
    t.path("script").write_text(f"echo $$ >$D/up.new; mv $D/up.new $D/up\n{script}\n")
    shell.send(f'"$HF" run a -- sh $D/script{tail}\n')
    t.until("the command runs", held(t))
    return int(t.path("up").read_text())


@case
def ctrl_c_ends_the_command(t):
    shell = Shell(t)
    start(t, shell, "exec sleep 1000")
    shell.send("\x03")
    t.equal(shell.status(), 130)
    shell.close()


@case
def ctrl_c_ends_the_script_around_it(t):
    t.path("loop").write_text('for i in 1 2 3; do "$HF" run a -- sh -c "echo >$D/up; exec sleep 1000"; done\n'
                              "echo went on\n")
    shell = Shell(t)
    shell.send("bash $D/loop\n")
    t.until("the command runs", held(t))
    shell.send("\x03")
    t.equal(shell.status(), 130)
    t.lacks(shell.all, "went on")
    shell.close()


@case
def ctrl_c_while_waiting_ends_the_script_around_it(t):
    holder = t.hold("a")
    t.path("loop").write_text('"$HF" run -q a -- true\necho went on\n')
    shell = Shell(t)
    shell.send("bash $D/loop\n")
    t.waiting("a", 1)
    shell.send("\x03")
    t.equal(shell.status(), 130)
    t.lacks(shell.all, "went on")
    shell.close()
    t.end(holder)


@case
def ctrl_z_stops_both_and_fg_continues_them(t):
    shell = Shell(t)
    pid = start(t, shell, "exec sleep 1000")
    for _ in range(2):
        shell.send("\x1a")
        shell.expect("Stopped")
        t.until("the command is stopped", lambda: state_of(pid) == "T")
        t.equal(t.run("try", "a", "true").code, 75)
        shell.send("fg\n")
        t.until("the command goes on", lambda: state_of(pid) == "S")
    shell.send("\x03")
    t.equal(shell.status(), 130)
    shell.close()


@case
def ctrl_z_while_waiting(t):
    holder = t.hold("a")
    shell = Shell(t)
    shell.send('"$HF" run -q a -- echo mine\n')
    t.waiting("a", 1)
    shell.send("\x1a")
    shell.expect("Stopped")
    t.waiting("a", 0)
    shell.send("fg\n")
    t.waiting("a", 1)
    t.end(holder)
    shell.expect("\nmine\r\n")
    shell.close()


@case
def a_command_may_read_from_the_terminal(t):
    shell = Shell(t)
    start(t, shell, "read x; echo got:$x; read x; echo got:$x; exit 5")
    shell.send("hello\n")
    shell.expect("got:hello")
    shell.send("again\n")
    shell.expect("got:again")
    t.equal(shell.status(), 5)
    shell.close()


@case
def ctrl_z_while_it_reads(t):
    shell = Shell(t)
    pid = start(t, shell, "echo ready; read x; echo got:$x")
    shell.expect("ready")
    t.until("it has the terminal", lambda: foreground(shell) == pid)
    shell.send("\x1a")
    shell.expect("Stopped")
    shell.send("fg\n")
    t.until("it has the terminal again", lambda: foreground(shell) == pid)
    shell.send("hello\n")
    shell.expect("got:hello")
    t.equal(shell.status(), 0)
    shell.close()


@case
def ctrl_c_while_it_reads_ends_the_script_too(t):
    t.path("script").write_text("echo $$ >$D/up.new; mv $D/up.new $D/up; read x\n")
    t.path("loop").write_text('for i in 1 2; do "$HF" run a -- sh $D/script; done\necho went on\n')
    shell = Shell(t)
    shell.send("bash $D/loop\n")
    t.until("the command runs", held(t))
    t.until("it has the terminal", lambda: foreground(shell) == int(t.path("up").read_text()))
    shell.send("\x03")
    t.equal(shell.status(), 130)
    t.lacks(shell.all, "went on")
    shell.close()


@case
def a_background_job_that_reads_is_stopped(t):
    shell = Shell(t)
    pid = start(t, shell, "read x; echo got:$x", " &")
    t.until("the command is stopped", lambda: state_of(pid) == "T")
    for _ in range(100):  # the shell may hear of it a little later
        shell.send("jobs\n")
        if shell.expect("Stopped|Running").group() == "Stopped":
            break
        time.sleep(0.05)
    else:
        raise Failure("the shell does not say Stopped")
    shell.send("fg\n")
    t.until("it has the terminal", lambda: foreground(shell) == pid)
    shell.send("hello\n")
    shell.expect("got:hello")
    shell.close()


@case
def a_pipeline_keeps_the_terminal(t):
    shell = Shell(t)
    shell.send('"$HF" run a -- sh -c "echo one; echo two" | sed s/^/x/\n')
    shell.expect("xone\r\nxtwo\r\n")
    shell.close()


@case
def an_ended_command_leaves_the_terminal_sane(t):
    shell = Shell(t)
    start(t, shell, "stty raw -echo; echo >$D/raw; sleep 1000")
    t.until("the terminal is raw", held(t, "raw"))
    t.equal(t.run("break", "--yes", "a").code, 0)
    shell.expect("was lost")
    t.equal(shell.status(), 79)
    t.equal(shell.command("stty -a | grep -q ' icanon'"), 0)
    shell.close()


@case
def alone_on_a_terminal_nothing_can_be_stopped(t):
    """As in a container: no shell that could continue a stopped job."""
    script = "echo ready; read x; echo got:$x; read x; echo got:$x"
    shell = Shell(t, [HOLDFAST, "run", "a", "--", "sh", "-c", script], "ready")
    for word in ("hello", "again"):
        shell.send("\x1a")
        shell.send(f"{word}\n")
        shell.expect(f"got:{word}")
    t.equal(os.waitstatus_to_exitcode(os.waitpid(shell.pid, 0)[1]), 0)
    os.close(shell.fd)


def foreground(shell):
    return os.tcgetpgrp(shell.fd)


main()
