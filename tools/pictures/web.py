#!/usr/bin/python3 -B
"""web.py - a screenshot of `holdfast web`, of locks that are really held.

    tools/pictures/web.py [-s SECONDS] [--dark] BUILD web.png

BUILD has holdfast and holdfast-web.  On a stage (stage.py) a Redis server keeps the locks, and the jobs
below take them, each as its user and on its machine; their commands only sleep.  Chromium takes the
screenshot after SECONDS, by default 11 minutes, so that there is a history to show.  Times of jobs are
fractions of that.

This needs Debian's python3, which has selenium.
"""
import argparse
import base64
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

import stage

URL = "redis://locks.example"
WIDTH, HEIGHT, SCALE = 1080, 760, 1.5
OPENED = "deploy"
PATIENCE = 60
LOG = pathlib.Path("jobs.log")  # their output
WORK = '#!/bin/sh\nsleep "$LONG"\n'
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars")


@dataclasses.dataclass
class Job:
    at: float  # start and duration, as fractions of the whole
    long: float
    who: str
    name: str
    command: str
    options: str = ""


STAYS = 2.0  # until the end
JOBS = [
    Job(0.02, 0.17, "ana@web1", "deploy", "deploy.sh v38", "--note=v38"),
    Job(0.10, 0.12, "ben@web2", "deploy", "deploy.sh v39", "--note=v39"),
    Job(0.25, 0.50, "ci@build1", "deploy", "deploy.sh v40", "--note=v40"),  # somebody breaks it
    Job(0.44, 0.21, "ana@web1", "deploy", "deploy.sh v41", "--note=v41"),
    Job(0.60, STAYS, "ci@build1", "deploy", "deploy.sh v42", "--note=v42"),
    Job(0.72, STAYS, "ben@web2", "deploy", "deploy.sh v43", "--note=v43"),
    Job(0.84, STAYS, "eva@build2", "deploy", "rollback.sh v41", "--note=rollback"),
    Job(0.00, STAYS, "ci@build1", "gpu", "train.py --fold 1", "--slots=3"),
    Job(0.01, STAYS, "ci@build2", "gpu", "train.py --fold 2", "--slots=3"),
    Job(0.02, STAYS, "eva@build2", "gpu", "train.py --fold 3", "--slots=3"),
    Job(0.78, STAYS, "eva@build1", "gpu", "train.py --fold 4", "--slots=3"),
    Job(0.03, STAYS, "www@web1", "catalog", "serve", "-s"),
    Job(0.04, STAYS, "www@web2", "catalog", "serve", "-s"),
    Job(0.93, STAYS, "ana@web1", "catalog", "import.sh", "-x"),
    Job(0.00, STAYS, "cron@db1", "backup", "pg_dump shop", "--note=nightly"),
    Job(0.41, STAYS, "cron@db1", "invoices", "bill.sh november"),
    Job(0.05, STAYS, "www@web2", "mail-queue", "send-mail"),
    Job(0.52, STAYS, "www@web1", "search-index", "reindex.sh"),
    Job(0.88, STAYS, "cron@web1", "certificates", "renew.sh"),
]
BROKEN = (0.47, "deploy")


def start(job, whole, log):
    user, _, host = job.who.partition("@")
    command = ["holdfast", "run", "--quiet", "--show-command", *job.options.split(), job.name, "--",
               *job.command.split()]
    subprocess.Popen(stage.as_user(user, host, command),
                     env={**os.environ, "LONG": str(job.long * whole)}, stderr=log)


def play(whole):
    """Starts all jobs in time, and breaks the lock of one."""
    begin = time.monotonic()
    todo = sorted([(job.at, job) for job in JOBS] + [(BROKEN[0], None)], key=lambda due: due[0])
    with LOG.open("wb") as log:
        for at, job in todo:
            time.sleep(max(0, begin + at * whole - time.monotonic()))
            if job is not None:
                start(job, whole, log)
            else:
                subprocess.run(["holdfast", "break", "--yes", BROKEN[1]], check=True, stderr=log)
    time.sleep(max(0, begin + whole - time.monotonic()))


def start_redis():
    pathlib.Path("hosts").write_text("127.0.0.1 localhost locks.example\n")
    subprocess.run(["mount", "--bind", "hosts", "/etc/hosts"], check=True)
    subprocess.Popen(["redis-server", "--bind", "127.0.0.1", "--save", ""],
                     stdout=subprocess.DEVNULL)
    until(lambda: subprocess.run(["redis-cli", "ping"], capture_output=True).returncode == 0)
    # A server that has just started grants nothing for one lease.  It should keep a history.
    subprocess.run(["holdfast", "run", "--quiet", "--url", f"{URL}?history=1000", "first", "--", "true"],
                   check=True)


def start_web():
    """The address with the key."""
    log = pathlib.Path("web.log")
    with log.open("wb") as err:
        subprocess.Popen(["holdfast", "web", "--allow-ask", "--allow-break"], stderr=err)
    return until(lambda: re.search(r"open (http://\S+)", log.read_text())).group(1)


def until(condition, told=lambda: ""):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"it does not come true: {told()}")
        time.sleep(0.05)
    return found


def open_browser(dark):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={stage.HOME}/browser"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": WIDTH, "height": HEIGHT, "deviceScaleFactor": SCALE, "mobile": False})
    return browser


def photograph(browser):
    """With one lock opened."""
    from selenium.webdriver.common.by import By

    names = {job.name for job in JOBS}
    rows = browser.find_element(By.ID, "rows")
    until(lambda: names <= set(rows.text.split()),
          lambda: f"{rows.text}\n{LOG.read_text()}")
    row = next(row for row in browser.find_elements(By.CSS_SELECTOR, "#rows tr")
               if row.text.split()[0] == OPENED)
    row.click()
    until(lambda: browser.find_element(By.ID, "lock").is_displayed())
    time.sleep(2)  # for the figures of the next second
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    return base64.b64decode(shot["data"])


def on_stage(args):
    os.environ.update(stage.ENV, HOLDFAST_URL=URL)
    start_redis()
    address = start_web()
    play(args.seconds)
    browser = open_browser(args.dark)
    try:
        browser.get(address)
        sys.stdout.buffer.write(photograph(browser))
    finally:
        browser.quit()


def prepare(args, home):
    for program in ("holdfast", "holdfast-web"):
        stage.bring(home, args.build / program)
    for job in JOBS:
        stage.script(home, f"bin/{job.command.split()[0]}", WORK)


def main():
    parser = argparse.ArgumentParser(description="Make a picture of `holdfast web`.")
    parser.add_argument("-s", "--seconds", type=float, default=11 * 60)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("picture", type=pathlib.Path)
    args = parser.parse_args()
    if stage.is_set():
        on_stage(args)
        return
    shot = stage.enter(lambda home: prepare(args, home))
    args.picture.write_bytes(subprocess.run(["pngquant", "--speed", "1", "96", "-"], input=shot,
                                            stdout=subprocess.PIPE, check=True).stdout)


if __name__ == "__main__":
    main()
