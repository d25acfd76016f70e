#!/usr/bin/env -S python3 -B
"""jobs.py - docs/jobs.md: its units, workflows and manifests are what systemd and others can read,
and the lines in them run.  Its crontabs are read by a real cron in cron.py."""
import re
import shlex
from hf import *

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/jobs.md"


def files(language):
    """{name of the file: its text} of the blocks that begin with "# name"."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    return {pathlib.Path(block.split()[1]).name: block for block in blocks}


def here(t, text):
    """With programs of the test's own, and times for which nobody wants to wait."""
    folder = t.path("bin")
    folder.mkdir(exist_ok=True)
    for name in set(re.findall(r"[\w-]+\.sh\b|(?<=/usr/local/bin/)scheduler\b", text)):
        (folder / name).write_text('#!/bin/sh\necho "did $HOLDFAST_NAME"\n')
        (folder / name).chmod(0o755)
    if not (folder / "holdfast").exists():
        (folder / "holdfast").symlink_to(HOLDFAST)
    text = text.replace("/usr/local/bin/", f"{folder}/").replace(" ./deploy.sh", f" {folder}/deploy.sh")
    return re.sub(r"(hold-at-least[ ,]+)5m", r"\g<1>20ms", text)


def runs(t, words, name, **env):
    """The line runs its job, under the lock of that name."""
    env = dict(t.env, PATH=f"{t.folder}/bin:{t.env['PATH']}", **env)
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=LIMIT)
    t.equal((done.returncode, done.stdout), (0, f"did {name}\n"), f"{words}: {done.stderr}")


def unit_lines(text, key):
    return re.findall(rf"^{key}=(.*)$", text, re.M)


@case
def systemd_understands_the_units(t):
    if not shutil.which("systemd-analyze"):
        raise Skip("no systemd-analyze here")
    units = files("ini")
    t.equal(sorted(units), ["report.service", "report.timer", "scheduler.service"])
    for name, text in units.items():
        t.path(name).write_text(here(t, text))
        t.equal(unit_lines(text, "KillMode"), [], "mixed would kill the guardian with holdfast")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *(str(t.path(name)) for name in units)],
                          env=t.env, capture_output=True, text=True, timeout=LIMIT)
    t.equal((done.returncode, done.stdout, done.stderr), (0, "", ""))


@case
def systemd_reports_a_bad_unit(t):
    if not shutil.which("systemd-analyze"):
        raise Skip("no systemd-analyze here")
    t.path("x.service").write_text(here(t, files("ini")["report.service"]).replace("OOMPolicy=", "OomPolicy="))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(t.path("x.service"))],
                          env=t.env, capture_output=True, text=True, timeout=LIMIT)
    t.contains(done.stderr, "OomPolicy")


@case
def commands_of_the_services_run(t):
    for name, lock in (("report.service", "report"), ("scheduler.service", "scheduler")):
        text = here(t, files("ini")[name])
        t.path("locks").write_text(t.env["HOLDFAST_URL"] + "\n")
        line, = unit_lines(text, "ExecStart")
        words = shlex.split(line.replace("${CREDENTIALS_DIRECTORY}", str(t.folder)))
        if "--again" in words:
            words.remove("--again")  # else it would never end
        runs(t, words, lock)


@case
def a_second_instance_is_no_failure_of_the_service(t):
    text = here(t, files("ini")["report.service"])
    holder = t.hold("report")
    t.path("locks").write_text(t.env["HOLDFAST_URL"] + "\n")
    line, = unit_lines(text, "ExecStart")
    done = subprocess.run(shlex.split(line.replace("${CREDENTIALS_DIRECTORY}", str(t.folder))), env=t.env,
                          capture_output=True, text=True, timeout=LIMIT)
    t.equal((str(done.returncode), done.stdout), (unit_lines(text, "SuccessExitStatus")[0], ""))
    t.end(holder)


def parsed(t):
    try:
        import yaml
    except ImportError:
        raise Skip("no python3-yaml here")
    return {name: yaml.safe_load(here(t, text)) for name, text in files("yaml").items()}


@case
def the_lines_of_the_pipelines_run(t):
    found = parsed(t)
    gitlab = found[".gitlab-ci.yml"]["deploy"]
    runs(t, ["sh", "-ec", "\n".join(gitlab["script"])], "deploy", CI_PIPELINE_URL="https://ci.example.org/1")
    t.equal(gitlab["allow_failure"]["exit_codes"], 75)
    github = found["deploy.yml"]["jobs"]["deploy"]
    runs(t, ["bash", "-e", "-c", github["steps"][1]["run"]], "deploy", GITHUB_RUN_ID="1")
    limit = github["timeout-minutes"]
    for line in (gitlab["script"][0], github["steps"][1]["run"]):
        minutes = [int(number) for number in re.findall(r"(?:-w|--max-run) (\d+)m", line)]
        t.true(len(minutes) == 2 and sum(minutes) < limit == 60, line)


@case
def the_command_of_the_manifest_runs(t):
    job = parsed(t)["cronjob.yaml"]
    t.equal((job["apiVersion"], job["kind"], job["spec"]["schedule"]), ("batch/v1", "CronJob", "0 4 * * *"))
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    t.equal(pod["restartPolicy"], "Never")
    container, = pod["containers"]
    t.true(all(isinstance(word, str) for word in container["command"]), container["command"])
    runs(t, container["command"], "report")


@case
def as_process_1_it_passes_sigterm_on(t):
    """What Kubernetes does to a container that is to end."""
    inner = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*inner, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("no namespaces here")
    command = parsed(t)["cronjob.yaml"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"]
    pathlib.Path(command[-1]).write_text("#!/bin/sh\ntrap 'echo tidy >$D/tidy; exit 0' TERM\n"
                                         ">$D/up; while :; do sleep 0.02; done\n")
    process = subprocess.Popen([*inner, *command], env=t.env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    t.started.append(process)
    t.until("the job runs", t.path("up").exists)
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        os.kill(int(file.read()), signal.SIGTERM)
    t.equal((process.wait(LIMIT), t.path("tidy").read_text()), (0, "tidy\n"))


main()
