#!/usr/bin/env -S python3 -B
"""metrics.py - run --metrics-file: what Prometheus reads of a job."""
import re
from hf import *

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "metrics.md"


def read(t, path):
    """{"name{labels}": value}; promtool must have nothing to say."""
    text = path.read_text()
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        t.equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "promtool")
    values = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            values[name] = float(value)
    return values


def of(values, name):
    return values.get(f'holdfast_run_{name}{{lock="a"}}')


@case
def a_run_that_succeeds(t):
    path = t.path("a.prom")
    flag = t.path("go")
    run = t.start("run", "--metrics-file", str(path), "a", "--", "sh", "-c",
                  f"while [ ! -e {flag} ]; do sleep 0.05; done; exit 3")
    t.until("it is held", lambda: path.exists()
            and read(t, path).get('holdfast_run_state{lock="a",state="held"}') == 1)
    values = read(t, path)
    t.equal((of(values, "acquired"), of(values, "end_time_seconds"), of(values, "exit_code")), (1, None, None))
    flag.touch()
    t.equal(t.finish(run).code, 3)
    values = read(t, path)
    t.equal((of(values, "exit_code"), of(values, "lost"), of(values, "timed_out")), (3, 0, 0))
    t.equal(values['holdfast_run_state{lock="a",state="ended"}'], 1)
    t.true(of(values, "hold_seconds") > 0 and of(values, "wait_seconds") >= 0, "times")
    t.equal(of(values, "lease_left_least_seconds"), None, "a file has no lease")
    t.true(of(values, "round_trip_seconds_count") >= 2, "it was asked for, and given back")
    t.equal(values['holdfast_run_round_trip_seconds_bucket{lock="a",le="+Inf"}'],
            of(values, "round_trip_seconds_count"))
    known = set(re.findall(r"`(holdfast_run_[a-z_]+)", PAGE.read_text()))
    told = {re.sub(r"(_bucket|_sum|_count)?\{.*", "", name) for name in values}
    t.equal(told - known, set(), "not in docs/metrics.md")
    t.equal(known - told, {"holdfast_run_lease_left_least_seconds"}, "not written")


@case
def runs_that_fail(t):
    path = t.path("a.prom")
    holder = t.hold("a")
    t.equal(t.run("run", "-n", "--metrics-file", str(path), "a", "true").code, 75)
    values = read(t, path)
    t.equal((of(values, "acquired"), of(values, "timed_out"), of(values, "exit_code")), (0, 1, 75))
    t.end(holder)

    run = t.start("run", "--metrics-file", str(path), "a", "--", "sleep", "1000")
    t.until("it is held", lambda: t.list() and t.list()[0]["holders"])
    t.until("it is told", lambda: read(t, path).get('holdfast_run_state{lock="a",state="held"}') == 1)
    t.equal(t.run("break", "-y", "a").code, 0)
    t.equal(t.finish(run).code, 79)
    values = read(t, path)
    t.equal((of(values, "lost"), of(values, "broken"), of(values, "exit_code")), (1, 1, 79))


@case
def any_name_is_a_label(t):
    path = t.path("a.prom")
    t.equal(t.run("run", "--metrics-file", str(path), 'a "b" \\ ü', "true").code, 0)
    t.contains(path.read_text(), 'holdfast_run_acquired{lock="a \\"b\\" \\\\\\\\ ü"} 1')
    read(t, path)


@case
def a_file_that_cannot_be_made(t):
    done = t.run("run", "--metrics-file", f"{t.folder}/none/a.prom", "a", "--", "touch", f"{t.folder}/ran")
    t.equal(done.code, 64)
    t.one_line(done.err)
    t.contains(done.err, "No such file or directory")
    t.true(not t.path("ran").exists(), "the command did not run")
    t.equal(list(t.folder.glob("*.prom*")), [])
    t.equal(t.run("run", "--metrics-file", "", "a", "true").code, 64)


main()
