#!/usr/bin/env -S python3 -B
"""completion.py - TAB in bash, zsh and fish: with any name of a lock nothing is
executed, and what TAB writes, as it stands, means that name."""
from shell import *

NAMES = [  # one at a time is held when TAB is pressed
    "nightly", "$(touch pwned)x", "`touch pwned`", "$HOME", "${HOME}", "it's", 'say "hi"', "a b",
    " a", "a ", "*", "?[a-z]", "{a,b}", "~", "~root", "#a", "!!", "a!b", "a!", "\\", "a\\b",
    "\\$(touch pwned)", "a;touch pwned", "a&touch pwned", "a|touch pwned", ">pwned",
    "<(touch pwned)", "x'; touch pwned; '", 'x"; touch pwned; "', "(touch pwned)", "a=b", "a=~",
    "a:b", "a@b", "a,b", "=ls", "%1", "^a", "$'\\x41'", "grün", "日本語", "a\u0301", "\u202eexe.txt",
    "\u200b", "\U000e0041x",
]
DASHED = ["-x", "--help", "-$(touch pwned)"]

# `args` takes what holdfast takes, completes as holdfast does, and notes it down.
BASH_RC = '''PS1='$ '; PATH="$D:$PATH"; cd "$D"
args() { printf '%s\\0' "$@" >"$D/args.new.$$"; mv "$D/args.new.$$" "$D/args.$$"; }
source "$D/completion.bash"; complete -F _holdfast args
'''
ZSH_RC = '''PS1='$ '; PATH="$D:$PATH"; cd "$D"; unset zle_bracketed_paste
args() { printf '%s\\0' "$@" >"$D/args.new.$$"; mv "$D/args.new.$$" "$D/args.$$"; }
fpath=("$D/zsh" $fpath); autoload -U compinit; compinit -u -d "$D/zcompdump.$$"; compdef _holdfast args
'''
FISH_RC = '''function fish_prompt; echo -n '$ '; end; function fish_greeting; end
set -g PATH $D $PATH; cd $D
function args; printf '%s\\0' $argv >$D/args.new.$fish_pid; mv $D/args.new.$fish_pid $D/args.$fish_pid; end
source $D/completion.fish; complete -c args -w holdfast
'''


class Completing(Shell):
    """A shell in which the word at the end of a line is completed."""

    def __init__(self, t, name, rc):
        self.name = name
        if not t.path("holdfast").exists():
            t.path("holdfast").symlink_to(HOLDFAST)
        t.path("zsh").mkdir(exist_ok=True)
        script = {"zsh": t.path("zsh/_holdfast")}.get(name, t.path(f"completion.{name}"))
        script.write_text(t.run("completion", name).out)
        rc_file = t.path(f"rc.{name}")
        rc_file.write_text(rc)
        t.path("hf-one-command").write_text("#!/bin/sh\n")
        t.path("hf-one-command").chmod(0o755)
        argv = {"bash": ["bash", "--noprofile", "--rcfile", str(rc_file), "-i"],
                "zsh": ["zsh", "-f", "-i"],
                "fish": ["fish", "--no-config", "--private", "-i", "-C", f"source {rc_file}"]}[name]
        super().__init__(t, argv, greeting=r"\$ (\x1b\S*)?$")
        if name == "zsh":
            self.send(f"source {rc_file}\n")
            self.expect(r"\$ $")

    def start(self, words):
        """Press TAB after the last of the words, then Enter."""
        self.typed, self.args = words, self.t.path(f"args.{self.pid}")
        self.args.unlink(missing_ok=True)
        self.send(f"args {words}\t\n")

    def finish(self):
        """What the words meant."""
        self.t.until(f"{self.name} completes {self.typed!r}", self.args.exists, limit=20)
        self.expect(r"\$ $")
        return self.args.read_bytes().decode().split("\0")[:-1]


QUOTING_IS_THEIRS = "asan" not in HOLDFAST  # and once is enough
SHELLS = {"bash": BASH_RC, "zsh": ZSH_RC, "fish": FISH_RC}


def held(t, name):
    """Somebody holds it."""
    dashes = ["--"] if name in DASHED else []
    process = t.start("hold", *dashes, name, stdin=subprocess.PIPE)
    t.contains(process.stderr.readline().decode(), "holding")
    return process


@case
def names_are_nothing_but_names(t):
    shells = [(Completing(t, name, SHELLS[name]), quote)
              for name in SHELLS if shutil.which(name) and (name == "bash" or QUOTING_IS_THEIRS)
              for quote in ("", "'", '"') if name == "bash" or not quote]
    for name in (NAMES + DASHED)[::1 if QUOTING_IS_THEIRS else 4]:
        dashes = ["--"] if name in DASHED else []
        holder = held(t, name)
        # fish would not quote a ~: such names are not offered there.
        asked = [(shell, quote) for shell, quote in shells
                 if shell.name != "fish" or name[0] != "~"]
        for shell, quote in asked:
            shell.start(" ".join(["show", *dashes, quote]))
        for shell, quote in asked:
            t.equal(shell.finish(), ["show", *dashes, name], f"{shell.name} after {quote!r}")
        t.true(not t.path("pwned").exists(), f"{name!r} was executed")
        t.finish(holder)
    for shell, _ in shells:
        shell.close()


def words_are_completed(t, shell):
    if not shutil.which(shell):
        raise Skip(f"{shell} is not installed")
    shell = Completing(t, shell, SHELLS[shell])
    t.path("one-file").touch()
    holders = [held(t, name) for name in ("nightly", "a:b c", "-x")]
    for words, want in (
            ("show ni", "show nightly"), ("show a", "show|a:b c"), ("show a:", "show|a:b c"),
            ("show a:b\\ ", "show|a:b c"), ("show -- -", "show -- -x"), ("sho", "show"), ("help his", "help history"),
            ("run --nonb", "run --nonblock"), ("run -w 5 --note x ni", "run -w 5 --note x nightly"),
            ("run --signal HU", "run --signal HUP"),
            ("list --url-file one", "list --url-file one-file"),
            ("run nightly hf-one", "run nightly hf-one-command"),
            ("run nightly -- hf-one", "run nightly -- hf-one-command"),
            ("run -- nightly -- hf-one", "run -- nightly -- hf-one-command"),
            ("run 'a:b c' -w 5 -- hf-one", "run|a:b c|-w|5|--|hf-one-command"),
            ("run --slots=3 nightly -- hf-one", "run --slots=3 nightly -- hf-one-command"),
            ("fence one", "fence one-file"), ("fence --token 3 -- one", "fence --token 3 -- one-file"),
            ("fence one-file -- hf-one", "fence one-file -- hf-one-command"),
            ("elect nightly -- hf-one", "elect nightly -- hf-one-command"),
            ("run nightly -- cat one", "run nightly -- cat one-file"),
            ("run nightly -- cat -- one", "run nightly -- cat -- one-file"),
            ("hold nightly hf-one", "hold nightly hf-one")):
        shell.start(words)
        t.equal(shell.finish(), want.split("|" if "|" in want else None), words)
    for holder in holders:
        t.finish(holder)
    shell.close()


@case
def words_in_bash(t):
    words_are_completed(t, "bash")


if QUOTING_IS_THEIRS:
    @case
    def words_in_zsh(t):
        words_are_completed(t, "zsh")

    @case
    def words_in_fish(t):
        words_are_completed(t, "fish")


@case
def words_in_bash_with_the_completions_of_others(t):
    package = pathlib.Path("/usr/share/bash-completion/bash_completion")
    if not package.exists():
        raise Skip("bash-completion is not installed")
    SHELLS["bash"] = f"source {package}\n{BASH_RC}"
    words_are_completed(t, "bash")


main()
