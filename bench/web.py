#!/usr/bin/python3 -B
"""web.py - what `holdfast web` costs, with 1,000 locks and 100 waiters each.

    bench/web.py [--store redis|file] [--locks N] [--waiters N] [--seconds N] [--json]

On a store of its own, filled by bench/web/crowd:

    look      the time from the start of holdfast-web until it has read all locks, and its memory then
    idle      processor time of holdfast-web while nothing changes, with 0, 1 and 20 clients of its
              stream, in percent of one processor; on Redis also the server's commands per second,
              with holdfast-web and without
    update    a lock changes hands: the time until a client of the stream has the update, in ms; then the
              same for 100 locks at once
    page      in chromium, if installed: first paint, first rows, and the page's own work for one message
              in which 1 and 100 locks change

With --json, the last line has all figures as JSON.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
TOKEN = "a-token-for-the-benchmark"
sys.path.insert(0, str(ROOT / "test/server"))
import redis  # noqa: E402


class Crowd:
    def __init__(self, url, locks, waiters):
        self.process = subprocess.Popen([BUILD / "bench/web/crowd", url, str(locks), str(waiters)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("the crowd did not come")

    def hand_over(self, count):
        """Returns the time of the first release."""
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()

    def done(self):
        self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Web:
    def __init__(self, url):
        env = dict(os.environ, HOLDFAST_URL=url, HOLDFAST_WEB_TOKEN=TOKEN)
        begin = time.monotonic()
        self.process = subprocess.Popen([BUILD / "holdfast-web", "--listen", "127.0.0.1:0"], env=env,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.address, self.key = re.search(r"http://(\S+)/#key=(\S+)", line).groups()
        while not self.get("/api/locks")["complete"]:
            time.sleep(0.01)
        self.looked = time.monotonic() - begin

    def open(self, path):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        return connection, connection.getresponse()

    def get(self, path):
        connection, response = self.open(path)
        with contextlib.closing(connection):
            return json.loads(response.read())

    def memory(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return {"rss_mb": round(int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024, 1),
                "peak_mb": round(int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024, 1)}

    def processor(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.terminate()
        self.process.wait()


class Stream:
    """A client of the stream."""

    def __init__(self, web):
        self.connection, self.response = web.open("/api/events")
        self.next("rows")

    def next(self, kind):
        event = None
        while True:
            line = self.response.readline()
            if not line:
                raise SystemExit("the stream has ended")
            if line.startswith(b"event: "):
                event = line[7:].strip().decode()
            elif line.startswith(b"data: ") and event == kind:
                return json.loads(line[6:])

    def close(self):
        self.connection.close()


def idle(web, seconds, clients, server):
    streams = [Stream(web) for _ in range(clients)]
    for stream in streams:
        threading.Thread(target=lambda s=stream: read_on(s), daemon=True).start()
    time.sleep(3)
    commands, before, begin = server(), web.processor(), time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - begin
    result = {"percent": round(100 * (web.processor() - before) / took, 2)}
    if commands is not None:
        result["commands_per_s"] = round((server() - commands) / took, 1)
    for stream in streams:
        with contextlib.suppress(OSError, AttributeError):
            stream.response.fp.raw._sock.shutdown(socket.SHUT_RDWR)
    return result


def read_on(stream):
    with contextlib.suppress(OSError, ValueError, AttributeError, SystemExit):
        while True:
            stream.next("state")


def updates(web, crowd, count, times):
    stream, found = Stream(web), []
    for _ in range(times):
        time.sleep(0.4)
        wanted = {f"lock-{n:04}" for n in range(count)}
        begin = time.monotonic()
        crowd.hand_over(count)
        while wanted:
            wanted -= {row["name"] for row in stream.next("rows")["rows"]}
        found.append(1000 * (time.monotonic() - begin))
        crowd.done()
    stream.close()
    return {"median_ms": round(statistics.median(found)), "worst_ms": round(max(found))}


PAGE = """
const done = arguments[arguments.length - 1];
const spans = [];
new PerformanceObserver((list) => spans.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask" });
window.benchSpans = spans;
const fcp = performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
const fold = document.querySelector("#fold button"); // quiet locks are folded
const wait = () => {
  if (document.querySelector("#rows tr")) return done({ paint_ms: Math.round(fcp), rows_ms: Math.round(window.benchRows) });
  if (fold.textContent && !fold.parentElement.hidden) fold.click();
  setTimeout(wait, 5);
};
wait();
"""
EARLY = """
new MutationObserver((_, observer) => {
  if (document.querySelector("#rows tr") || document.querySelector("#fold button")?.textContent) { window.benchRows = performance.now(); observer.disconnect(); }
}).observe(document, { childList: true, subtree: true, characterData: true });
"""
HELD = """
const [count, done] = arguments;
const young = () => [...document.querySelectorAll("#rows tr")].filter((row) => Number(row.dataset.name.slice(5)) < count
  && /^[01]s$/.test(row.querySelector(".c-held").textContent)).length;
const wait = () => young() >= count ? done(Date.now()) : setTimeout(wait, 20);
wait();
"""


def page(web, crowd, locks):
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        return None
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        return None
    folder = tempfile.mkdtemp(prefix="hf-chromium-")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in ("--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
                 f"--user-data-dir={folder}", "--window-size=1400,900", *(["--no-sandbox"] if os.getuid() == 0 else [])):
        options.add_argument(flag)
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    try:
        driver.set_script_timeout(60)
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": EARLY})
        driver.get(f"http://{web.address}/#key={web.key}")
        first = driver.execute_async_script(PAGE)
        driver.get(f"http://{web.address}/")
        again = driver.execute_async_script(PAGE)
        result = {"first": first, "again": again}
        driver.execute_script("""const filter = document.getElementById("filter");
            filter.value = "lock-00"; filter.dispatchEvent(new Event("input"));""")  # the first hundred
        for count in (1, 100):
            found = []
            for _ in range(5):
                time.sleep(2.5)
                begin = time.time()
                crowd.hand_over(min(count, locks))
                crowd.done()
                found.append(driver.execute_async_script(HELD, min(count, locks)) - 1000 * begin)
            result[f"shown_{count}_ms"] = round(statistics.median(found))
        result["long_tasks_ms"] = [round(ms) for ms in driver.execute_script("return window.benchSpans")]
        result["heap_mb"] = round(driver.execute_script("return performance.memory.usedJSHeapSize") / 1e6, 1)
        return result
    finally:
        driver.quit()
        shutil.rmtree(folder, ignore_errors=True)


def measure(url, locks, waiters, seconds, server):
    result = {"locks": locks, "waiters": waiters}
    begin = time.monotonic()
    crowd = Crowd(url, locks, waiters)
    print(f"{locks} locks, {waiters} waiters each: there after {time.monotonic() - begin:.1f} s", flush=True)
    commands = server()
    if commands is not None:
        time.sleep(5)
        result["commands_per_s_without"] = round((server() - commands) / 5, 1)
    web = Web(url)
    try:
        result["look_s"], result["memory"] = round(web.looked, 2), web.memory()
        print("look", result["look_s"], "s", result["memory"], flush=True)
        for clients in (0, 1, 20):
            result[f"idle_{clients}"] = idle(web, seconds, clients, server)
            print("idle", clients, "clients", result[f"idle_{clients}"], flush=True)
        for count in (1, min(100, locks)):
            result[f"update_{count}"] = updates(web, crowd, count, 10)
            print("update", count, result[f"update_{count}"], flush=True)
        result["page"] = page(web, crowd, locks)
        print("page", result["page"], flush=True)
        result["memory_after"] = web.memory()
        print("memory", result["memory_after"], flush=True)
    finally:
        web.end()
        crowd.end()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=["redis", "file"], default="redis")
    parser.add_argument("--locks", type=int, default=1000)
    parser.add_argument("--waiters", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if given.store == "redis":
            server = stack.enter_context(redis.standalone())
            url = f"redis://{server.address}"
            client = server.client()

            def commands():
                return int(re.search(r"total_commands_processed:(\d+)", str(client.call("INFO", "stats")))[1])
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hf-bench-"))
            url = f"sqlite:{folder}/locks.db"

            def commands():
                return None
        result = measure(url, given.locks, given.waiters, given.seconds, commands)
    if given.json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
