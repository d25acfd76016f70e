#!/usr/bin/env -S python3 -B
"""bad-input.py - each mistake: one line that says what to do, the right exit
code, nothing on stdout, nothing left behind."""
# under ASan, if there is a choice
from hf import *


def refused(t, code, *args, says="", **more):
    done = t.run(*args, **more)
    t.equal(done.code, code, f"exit code of {args}")
    t.equal(done.out, "", f"stdout of {args}")
    t.one_line(done.err)
    t.contains(done.err, says)


@case
def bad_names(t):
    for name, says in (("a/b", "'/'"), ("..", '".."'), ("a..b", '".."'), (".", '"."'),
                       ("", "empty"), ("a\nb", "control"), ("a\x1bb", "control"),
                       ("x" * 256, "255"), (b"a\xffb", "UTF-8")):
        for verb in ("run", "try", "hold"):
            command = [] if verb == "hold" else ["true"]
            refused(t, 64, verb, name, *command, says=says)
        refused(t, 64, "show", name, says=says)
        refused(t, 64, "break", "--yes", name, says=says)
        refused(t, 64, "watch", name, says=says)


@case
def the_longest_name_is_fine(t):
    t.equal(t.run("run", "x" * 255, "true").code, 0)
    t.equal(t.run("run", "grün -- *", "true").code, 0)


@case
def paths_that_are_too_long(t):
    """With what is added to them, for the files beside the database."""
    says = "may have 500 bytes at most, a file name 229"
    deep = t.path("d" * 200) / ("d" * 200)
    deep.mkdir(parents=True, mode=0o700)
    longest = "x" * (500 - len(f"{deep}/"))
    for fine, too_long in (("x" * 229, "x" * 230), (f"{deep}/{longest}", f"{deep}/{longest}x")):
        t.equal(t.run("run", "--url", f"sqlite:{fine}", "a", "true", cwd=t.folder).code, 0)
        refused(t, 64, "run", "--url", f"sqlite:{too_long}", "a", "true", says=says, cwd=t.folder)
        refused(t, 64, "doctor", "--url", f"sqlite:{too_long}", says=says, cwd=t.folder)
    t.path("short").symlink_to(deep)
    t.equal(t.run("run", "--url", f"sqlite:short/{longest}", "a", "true", cwd=t.folder).code, 0)
    refused(t, 64, "run", "--url", f"sqlite:short/{longest}x", "a", "true", says=says, cwd=t.folder)


@case
def parameters_given_twice(t):
    for url in ("sqlite:a.db?history=1&history=2", "sqlite:a.db?force=1&history=5&force=1",
                "system:?history=1&history=1", "zk://127.0.0.1:1?session=5s&session=9s",
                "redis://127.0.0.1:1?ttl=5s&prefix=a&ttl=9s",
                "postgres://127.0.0.1:1/db?sslmode=disable&sslmode=require"):
        refused(t, 64, "list", "--url", url, says=" twice; ", cwd=t.folder)


@case
def bad_values(t):
    for value in ("abc", "", "-1", "1x", "1e3", "inf", "nan", "1.5.2", "99999999999999999999", "."):
        refused(t, 64, "run", f"--wait={value}", "a", "true", says="--wait")
        refused(t, 64, "run", f"--grace={value}", "a", "true", says="--grace")
    for option in ("--max-run=1x", "--max-run=0", "--hold-at-least=1x"):
        refused(t, 64, "run", option, "a", "true", says=option.partition("=")[0])
    refused(t, 64, "elect", "--observe", "--max-run", "1", "a", says="--observe")
    refused(t, 64, "elect", "--observe", "--hold-at-least", "1", "a", says="--observe")
    for value in ("0", "-1", "x", "", "4294967295", "99999999999999999999"):
        refused(t, 64, "run", f"--slots={value}", "a", "true", says="--slots")
    for value in ("256", "-1", "600", "", "x"):
        refused(t, 64, "run", f"--conflict-exit-code={value}", "a", "true", says="255")
    refused(t, 64, "run", "--signal", "NOPE", "a", "true", says="--signal")
    refused(t, 64, "run", "--signal", "0", "a", "true", says="--signal")
    refused(t, 64, "break", "--token", "12x", "a", says="--token")


@case
def bad_combinations(t):
    for options in (["-s", "-x"], ["-s", "--slots", "2"], ["--claim", "-x"],
                    ["--weight", "2"], ["--slots", "2", "--weight", "3"]):
        refused(t, 64, "run", *options, "a", "true")


@case
def missing_and_unknown_arguments(t):
    refused(t, 64, says="help")
    refused(t, 64, "frobnicate", says="frobnicate")
    refused(t, 64, "--max-run", "5", "run", "a", "true", says="VERB --max-run ...")
    refused(t, 64, "--url=redis://:secret@a", "list", says="VERB --url ...")
    refused(t, 64, "run", says="NAME")
    refused(t, 64, "run", "a", says="COMMAND")
    refused(t, 64, "run", "a", "--", says="COMMAND")
    refused(t, 64, "run", "--frobnicate", "a", "true", says="--frobnicate")
    refused(t, 64, "run", "-Z", "a", "true", says="-Z")
    refused(t, 64, "run", "a", "-w", says="-w")
    refused(t, 64, "run", "--json", "a", "true", says="--json")
    refused(t, 64, "run", "a", "-c", says="-c")
    refused(t, 64, "run", "a", "-c", "true", "-c", "true", says="-c")
    refused(t, 64, "run", "a", "-c", "true", "--", "false", says="false")
    refused(t, 64, "run", "a", "-c", "echo", "hi", says="in quotes: there is also hi")
    refused(t, 64, "elect", "--observe", "-c", "true", "a", says="--observe")
    refused(t, 64, "list", "a", "b", says="b")
    refused(t, 64, "show", says="NAME")
    refused(t, 64, "help", "frobnicate", says="frobnicate")
    refused(t, 64, "completion", "csh", says="csh")


@case
def a_missing_name_is_told_from_a_missing_command(t):
    refused(t, 64, "run", "--", "ls", says='the NAME of the lock is missing before "--"')
    refused(t, 64, "run", "-n", "--", "ls", "-l", says='the NAME of the lock is missing before "--"')
    t.equal(t.run("run", "--", "-name", "--", "true").code, 0, "a name that begins with a dash")


@case
def words_that_are_nearly_right(t):
    refused(t, 64, "rnu", "a", "true", says='did you mean "run"?')
    refused(t, 64, "lits", says='did you mean "list"?')
    refused(t, 64, "help", "shwo", says='did you mean "show"?')
    refused(t, 64, "run", "--quite", "a", "true", says="did you mean --quiet?")
    refused(t, 64, "run", "--frobnicate=3", "a", "true", says="--frobnicate; see")
    refused(t, 64, "list", "--jsn", says="did you mean --json?")
    done = t.run("frobnicate")
    t.lacks(done.err, "did you mean")


@case
def options_of_flock(t):
    for word, says in (("--nb", "write -n"), ("--timeout=5", "write -w"), ("-e", "write -x"),
                       ("-u", "ends with its command"), ("--unlock", "ends with its command"),
                       ("-F", "leave it out"), ("--no-fork", "leave it out")):
        refused(t, 64, "run", word, "a", "true", says=says)
    refused(t, 64, "run", "/var/lock/x.lock", "true", says='try "x.lock"')
    refused(t, 64, "run", "./dir/", "true", says="contains '/'")
    refused(t, 64, "run", "-n", "-w", "5", "a", "true", says="-n and -w are mutually exclusive")
    t.equal(t.run("run", "-n", "-w", "0", "a", "true").code, 0, "-n -w 0")


@case
def commands_that_cannot_run(t):
    refused(t, 127, "run", "a", "no-such-command-here", says="not found")
    refused(t, 127, "run", "a", "./no/such/file", says="not found")
    refused(t, 127, "run", "a", "", says="not found")
    plain = t.path("plain")
    plain.write_text("hello\n")
    refused(t, 126, "run", "a", str(plain), says="chmod")
    refused(t, 126, "run", "a", str(t.folder), says=f"{t.folder}: this is a folder")
    script = t.path("script")
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    refused(t, 126, "run", "a", str(script), says="interpreter")


@case
def stores_that_cannot_be_used(t):
    refused(t, 64, "run", "--url", "frob:x", "a", "true", says="frob")
    refused(t, 64, "list", "--url", "no-scheme-at-all", says="no-scheme")
    refused(t, 64, "run", "--url", f"sqlite:{t.folder}/x.db?frob=1", "a", "true", says="frob")
    refused(t, 69, "run", "--url", f"sqlite:{t.folder}/no/such/folder/x.db", "a", "true")
    junk = t.path("junk.db")
    junk.write_bytes(b"this is not a database at all\n" * 1000)
    before = junk.read_bytes()
    refused(t, 69, "run", "--url", f"sqlite:{junk}", "a", "true", says="junk.db")
    refused(t, 69, "list", "--url", "sqlite:/etc/passwd", says="is not a database; name another file")
    refused(t, 64, "list", "--url", "frob:x", says=" system")
    t.equal(junk.read_bytes(), before, "the file")


main()
