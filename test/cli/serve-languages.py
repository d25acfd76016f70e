#!/usr/bin/env -S python3 -B
"""serve-languages - the programs of docs/ruby.md, php.md, java.md and rust.md, as they stand."""
# release build: it does not test the command
import pathlib
import re

from hf import *

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PRINTS = "writing the report, true\nsending it\n"


def program(t, language, name):
    text = (DOCS / f"{language}.md").read_text()
    block = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL).group(1)
    t.path(name).write_text(block)
    return str(t.path(name))


def tool(*names):
    found = [shutil.which(name, path=f"/usr/bin:{os.environ['PATH']}") for name in names]
    if None in found:
        raise Skip(f"no {names[found.index(None)]} here")
    return found


def works(t, *argv):
    """It prints what it should, leaves nothing, waits for its turn, and a loss is an error."""
    path = {"PATH": f"{os.path.dirname(HOLDFAST)}:/usr/bin:/bin"}

    def start():
        return t.start(*argv[1:], executable=argv[0], called=argv[0], env=path)

    done = t.finish(start())
    t.equal((done.code, done.out), (0, PRINTS), done.err)
    holder = t.hold("nightly-report")
    waiter = start()
    t.waiting("nightly-report", 1)
    t.end(holder)
    done = t.finish(waiter)
    t.equal((done.code, done.out), (0, PRINTS), done.err)
    t.true(t.finish(start_broken(t, argv, path)).code != 0, "a bad store is an error")


def start_broken(t, argv, path):
    return t.start(*argv[1:], executable=argv[0], called=argv[0], env={**path, "HOLDFAST_URL": "nonsense:"})


@case
def ruby(t):
    works(t, *tool("ruby"), program(t, "ruby", "a.rb"))


@case
def php(t):
    works(t, *tool("php"), program(t, "php", "a.php"))


@case
def java(t):
    runtime, compiler = tool("java", "javac")
    source = program(t, "java", "Holdfast.java")
    done = subprocess.run([compiler, "-d", t.folder, source], capture_output=True, text=True, check=False)
    t.equal(done.returncode, 0, done.stderr)
    works(t, runtime, "-cp", str(t.folder), "Holdfast")


@case
def rust(t):
    compiler, = tool("rustc")
    # rustup's rustc only starts another one, which is installed below a home that a test does not have.
    if subprocess.run([compiler, "--version"], capture_output=True, check=False).returncode != 0:
        raise Skip("no rustc that works here")
    done = subprocess.run([compiler, "--edition", "2021", "-o", t.path("a"), program(t, "rust", "a.rs")],
                          capture_output=True, text=True, check=False)
    t.equal(done.returncode, 0, done.stderr)
    works(t, str(t.path("a")))


main()
