#!/usr/bin/env -S python3 -B
"""metrics.py - /metrics: accepted by promtool, correct, and used by the dashboard."""
import shutil
import subprocess
from web import *

DASHBOARD = pathlib.Path(__file__).resolve().parent.parent.parent / "examples/grafana-dashboard.json"
TOKEN = "a-token-for-programs"
SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')


def read(text):
    """{name: {labels: value}}"""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            found.setdefault(name, {})[labels or ""] = float(value)
    return found


def bearer(site):
    client = Client(site)
    return lambda path="/metrics": client.get(path, {"Authorization": f"Bearer {TOKEN}"})


@case
def names_that_look_alike_are_two_series(t):
    site = Site(t, env={"HOLDFAST_WEB_TOKEN": TOKEN})
    scrape = bearer(site)
    names = ["a\u202eb", "a\\u202eb"]
    holders = [t.hold(name) for name in names]
    waiters = [t.start("run", name, "--", "true") for name in names]
    t.until("both are counted", lambda: "\nholdfast_waiters 2\n" in scrape().text)
    t.equal(len(read(scrape().text)["holdfast_lock_waiters"]), 2)
    for process in holders:
        t.end(process)
    for process in waiters:
        t.finish(process)
    site.end()


@case
def promtool_accepts_the_metrics(t):
    site = Site(t, env={"HOLDFAST_WEB_TOKEN": TOKEN})
    scrape = bearer(site)
    name = 'a "b" \\ \u202e grün'
    holder, other = t.hold(name), t.hold("c", "--slots", "2")
    waiters = [t.start("run", name, "--", "true") for _ in range(2)]
    t.until("it is counted", lambda: "\nholdfast_waiters 2\n" in scrape().text)
    answer = scrape()
    t.equal(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=answer.text, capture_output=True,
                              text=True, check=False)
        t.equal((done.returncode, done.stdout + done.stderr), (0, ""), "promtool")
    found = read(answer.text)
    t.equal([found[f"holdfast_{what}"][""] for what in ("locks", "locks_waited_for", "holders", "waiters",
            "store_reachable", "sessions_lost_total", "history_missed_total")], [2, 1, 2, 2, 1, 0, 0])
    t.equal(found["holdfast_lock_waiters"], {r'lock="a \"b\" \\\\ \\u202e grün"': 2})
    t.true(0 < found["holdfast_longest_wait_seconds"][""] < 60, "longest wait")
    t.true(found["holdfast_round_trip_seconds_count"][""] > 0, "round trips")
    t.equal(found["holdfast_round_trip_seconds_bucket"]['le="+Inf"'], found["holdfast_round_trip_seconds_count"][""])
    t.true(1e6 < found["process_resident_memory_bytes"][""] < 1e9, "memory")
    t.true(abs(found["process_start_time_seconds"][""] - time.time()) < 120, "started")
    t.equal(Client(site).get("/metrics").status, 401, "without the token")
    t.equal(Client(site).get("/metrics", {"Authorization": f"Bearer {TOKEN}x"}).status, 401)
    t.equal(scrape("/api/locks").status, 200)
    for process in (holder, other):
        t.end(process)
    for process in waiters:
        t.finish(process)
    t.until("the end is counted", lambda: read(scrape().text)["holdfast_events_total"]['event="released"'] >= 2)
    site.end()


@case
def metrics_can_have_a_separate_address(t):
    path = t.path("metrics.sock")
    site = Site(t, "--metrics", f"unix:{path}")
    me = site.enter()
    t.equal(me.get("/metrics").status, 404, "not on the main address")
    site.unix = str(path)
    stranger = Client(site)
    t.contains(stranger.get("/metrics").text, "\nholdfast_store_reachable 1\n")
    for other in ("/", "/api/locks", "/app.js"):
        t.equal(stranger.get(other).status, 404, other)
    t.equal(stranger.ask("DELETE", "/metrics").status, 405)
    t.equal(stranger.get("/metrics", {"Host": "evil.example"}).status, 421)
    t.equal(stranger.get("/metrics", {"Content-Length": "5", "Transfer-Encoding": "chunked"}).status, 400)
    t.equal(site.end(), 0)
    t.true(not path.exists(), "the socket is left")


@case
def counters_match_the_history_of_the_store(t):
    url = t.env["HOLDFAST_URL"] + "?history=5000"
    if t.run("list", env={"HOLDFAST_URL": url}).code == 64:
        raise Skip("this store keeps no history")
    site = Site(t, env={"HOLDFAST_URL": url, "HOLDFAST_WEB_TOKEN": TOKEN})
    scrape = bearer(site)
    t.until("the locks have been read", lambda: scrape("/api/locks").json["complete"])
    if read(scrape().text)["holdfast_history_exact"][""] == 0:
        site.end()
        raise Skip("this store keeps no history")
    turns = 20
    workers = [t.start("run", f"l{n}", "--", "true", env={"HOLDFAST_URL": url}) for n in range(turns)]
    seen = []
    while any(worker.poll() is None for worker in workers):
        seen.append(read(scrape().text)["holdfast_events_total"]['event="granted"'])
    t.equal(seen, sorted(seen), "a counter went backwards")
    t.until("all are counted", lambda: [read(scrape().text)["holdfast_events_total"][f'event="{what}"']
                                        for what in ("granted", "released", "lost")] == [turns, turns, 0])
    t.equal(read(scrape().text)["holdfast_history_missed_total"][""], 0)
    for worker in workers:
        t.finish(worker)
    site.end()


@case
def the_dashboard_uses_existing_metrics(t):
    site = Site(t, env={"HOLDFAST_WEB_TOKEN": TOKEN})
    holder = t.hold("a")
    there = set(re.findall(r"^# TYPE (\S+)", bearer(site)().text, re.M))
    site.end()
    t.end(holder)
    dashboard = json.loads(DASHBOARD.read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    asked += [item["query"] for item in dashboard["templating"]["list"] if isinstance(item["query"], str)]
    names = {re.sub(r"_(bucket|sum|count)$", "", name) for text in asked
             for name in re.findall(r"\b(?:holdfast|process)_[a-z_]+", text)}
    t.true(len(names) > 8, "the dashboard has queries")
    optional = {"holdfast_least_lease_left_seconds"}  # where there are leases
    t.equal(names - there - optional, set(), "metrics that do not exist")
    ids = [panel["id"] for panel in dashboard["panels"]]
    t.equal(len(ids), len(set(ids)), "ids")


needs_program()
main()
