#!/usr/bin/env -S python3 -B
"""manual.py - help, manual and completions all know all verbs and options, and the exit codes."""
import re
from hf import *

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def verbs(t):
    return re.findall(r"^  (\w+) ", t.run("help").out, re.M)


def options(t, verb):
    """[(letter or '', long name)] of a verb, from its help."""
    return re.findall(r"^  (?:-(\w), )? *--([\w-]+)", t.run("help", verb).out, re.M)


@case
def the_manual_has_every_verb_and_option(t):
    page = (ROOT / "man/holdfast.1").read_text()
    t.true(len(verbs(t)) >= 8, "verbs")
    for verb in verbs(t):
        t.true(re.search(rf"^\.It Cm {verb}\b", page, re.M), f"the manual lacks {verb}")
        for letter, name in options(t, verb):
            head = f"Fl {letter} , Fl Fl {name}" if letter else f"Fl Fl {name}"
            t.true(re.search(rf"^\.It {head}\b", page, re.M), f"the manual lacks {head}")


@case
def the_manual_has_no_unknown_option(t):
    page = (ROOT / "man/holdfast.1").read_text()
    known = {name for verb in verbs(t) for _, name in options(t, verb)}
    for name in re.findall(r"Fl Fl ([a-z][a-z-]+)", page):
        t.true(name in known, f"the manual has --{name}")


@case
def exit_codes_are_the_same_everywhere(t):
    enum = re.search(r"enum exit_code \{(.*?)\}", (ROOT / "programs/view/complain.h").read_text(), re.S)
    codes = {int(code) for code in re.findall(r"= (\d+)", enum.group(1))}
    page = (ROOT / "man/holdfast.1").read_text().split(".Sh EXIT STATUS")[1].split(".Sh ")[0]
    t.equal({int(code) for code in re.findall(r"^\.It (\d+)$", page, re.M)}, codes, "of the manual")
    told = re.search(r"^Exit codes of run: (.*?)\.$", t.run("help").out, re.S | re.M).group(1)
    table = re.search(r"^\| exit code of `run` \|(.*?)\n\n", (ROOT / "README.md").read_text(), re.S | re.M)
    rows = re.findall(r"^\| ([\d, ]+) \|", table.group(1), re.M)
    of_run = {int(code) for row in rows for code in row.split(",")}
    t.equal({int(code) for code in re.findall(r"\b\d+\b", told)}, of_run, "of run, in README and help")
    t.true(len(of_run) >= 7 and of_run <= codes, f"unknown codes: {of_run - codes}")


@case
def completions_know_every_verb_and_option(t):
    for shell in ("bash", "zsh", "fish"):
        text = t.run("completion", shell).out
        for verb in verbs(t):
            t.true(re.search(rf"\b{verb}\b", text), f"{shell} lacks {verb}")
            for _, name in options(t, verb):
                t.contains(text, name)
        if shutil.which(shell):
            t.path(shell).write_text(text)
            done = subprocess.run([shell, "-n", str(t.path(shell))], capture_output=True, timeout=LIMIT)
            t.equal((done.returncode, done.stderr), (0, b""), f"syntax for {shell}")


main()
