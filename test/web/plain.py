#!/usr/bin/env -S python3 -B
"""plain.py - holdfast-web by plain HTTP: authentication, refused requests, and answers."""
# under ASan, if there is a choice
from web import *


@case
def a_key_logs_in_once(t):
    site = Site(t)
    stranger = Client(site)
    for path in ("/api/locks", "/api/locks/a", "/api/history", "/api/events", "/api/session", "/metrics"):
        t.equal(stranger.get(path).status, 401, path)
    t.equal(stranger.post("/api/enter", {"key": "0" * 48}).status, 401, "wrong key")
    t.equal(stranger.post("/api/enter", {"key": ""}).status, 401, "empty key")
    t.equal(stranger.post("/api/enter", {"key": site.key}, {"Origin": "http://evil.example"}).status, 403,
            "key from another origin")
    answer = stranger.post("/api/enter", {"key": site.key})
    t.equal(answer.status, 200)
    t.equal(answer.headers["Set-Cookie"], None, "a cookie, which browsers send to every port of a host")
    t.equal(stranger.post("/api/enter", {"key": site.key}).status, 401, "the second time")
    t.equal(stranger.post("/api/enter", {"key": ""}).status, 401, "empty key, later")
    stranger.token = answer.json["token"]
    t.equal(stranger.get("/api/locks").json["locks"], [])
    t.equal(stranger.get("/api/session").status, 200)
    stranger.token += "0"
    t.equal(stranger.get("/api/locks").status, 401, "a wrong token")
    before = len(site.log)
    site.process.send_signal(signal.SIGUSR1)
    site.key = site.wait_for(KEY, before)[2]
    t.equal(site.enter().get("/api/locks").status, 200, "with the next key")
    t.equal(site.end(), 0)


@case
def an_unknown_host_header_is_refused(t):
    site = Site(t, "--host", "locks.example")
    me = site.enter()
    for host in (f"127.0.0.1:{site.port}", f"localhost:{site.port}", f"LOCALHOST:{site.port}",
                 f"[::1]:{site.port}", "locks.example", f"locks.example:{site.port}"):
        t.equal(me.get("/api/locks", {"Host": host}).status, 200, host)
        t.equal(me.get("/", {"Host": host}).status, 200, host)
    for host in ("evil.example", f"evil.example:{site.port}", "localhost", "localhost:1",
                 f"localhost:{site.port}0", f"localhost.evil.example:{site.port}", "",
                 f"127.0.0.1:{site.port}@evil.example", "locks.example:1", "locks.example.evil"):
        for path in ("/", "/app.js", "/api/locks"):
            t.true(me.get(path, {"Host": host}).status in (400, 421), f"Host: {host}")
        t.true(me.post("/api/enter", {"key": "x"}, {"Host": host}).status in (400, 421), host)
    plug = site.connect()
    plug.sendall(f"GET / HTTP/1.1\r\nHost: {site.host}\r\nHost: evil.example\r\n\r\n".encode())
    t.true(plug.recv(99).split()[1] in (b"400", b"421"), "two Host headers")
    plug.close()
    site.end()


@case
def every_answer_has_the_security_headers(t):
    site = Site(t)
    me = site.enter()
    for path in ("/", "/app.js", "/style.css", "/api/locks", "/nothing", "/metrics"):
        headers = me.get(path).headers
        policy = headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"):
            t.contains(policy, part)
        t.lacks(policy, "unsafe")
        t.equal(headers["X-Content-Type-Options"], "nosniff")
        t.equal(headers["Referrer-Policy"], "no-referrer")
        t.equal(headers["Cache-Control"], "no-store")
        t.equal([name for name in headers if name.lower().startswith("access-control")], [], "CORS")
    page = me.get("/").text
    t.true(not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=|https?://", page), "inline or outside")
    t.equal(me.ask("OPTIONS", "/api/break").status, 405)
    t.equal(me.ask("DELETE", "/api/locks").status, 405)
    site.end()


@case
def a_request_without_token_or_from_another_origin_is_refused(t):
    site = Site(t, "--allow-ask", "--allow-break")
    me = site.enter()
    body = {"name": "a", "reason": "x"}
    t.equal(me.post("/api/ask", body).status, 404, "nobody holds it")
    token = me.token
    for wrong in (None, token[:-1], token + "0", "0" * 48):
        me.token = wrong
        t.equal(me.post("/api/ask", body).status, 401, f"token {wrong}")
        t.equal(me.post("/api/break", body).status, 401, f"token {wrong}")
        t.equal(me.get("/api/locks", {"Cookie": f"holdfast-{site.port}={token}"}).status, 401, f"token {wrong}")
    me.token = token
    for name, value in (("Origin", "http://evil.example"), ("Origin", "null"), ("Origin", "http://localhost:1"),
                        ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site")):
        t.equal(me.post("/api/ask", body, {name: value}).status, 403, f"{name}: {value}")
        t.equal(me.get("/api/locks", {name: value}).status, 403, f"GET {name}: {value}")
    t.equal(me.post("/api/ask", body, {"Origin": site.base, "Sec-Fetch-Site": "same-origin"}).status, 404)
    t.equal(me.post("/api/ask", body, {"Content-Type": "text/plain"}).status, 415)
    t.equal(me.get("/api/ask").status, 404)
    site.end()


@case
def unauthenticated_connections_do_not_block_others(t):
    site = Site(t)
    me = site.enter()
    slow = []
    for _ in range(300):
        plug = site.connect()
        plug.sendall(b"GET / HTTP/1.1\r\nX")
        slow.append(plug)
        if len(slow) % 50 == 0:
            t.equal(me.get("/api/locks").status, 200, f"after {len(slow)} of them")
    for plug in slow:
        plug.close()
    site.end()


@case
def a_request_with_an_ambiguous_length_is_refused(t):
    site = Site(t)
    head = f"POST /api/enter HTTP/1.1\r\nHost: {site.host}\r\nContent-Type: application/json\r\n"
    hidden = f"GET / HTTP/1.1\r\nHost: {site.host}\r\n\r\n"
    for lengths, body in (("Content-Length: 60\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
                          ("Content-Length: 2\r\nContent-Length: 60\r\n", "{}")):
        plug = site.connect()
        plug.sendall(f"{head}{lengths}\r\n{body}{hidden}".encode())
        answer = b""
        try:
            while part := plug.recv(65536):
                answer += part
        except ConnectionResetError:
            pass  # the server does not read the rest
        plug.close()
        t.equal(re.findall(rb"HTTP/1.1 (\d+)", answer), [b"400"], lengths)
    site.end()


@case
def an_unreachable_store_has_null_counts_and_no_lock_metrics(t):
    site = Site(t, env={"HOLDFAST_URL": "redis://127.0.0.1:1"})
    me = site.enter()
    t.until("the reason is reported", lambda: me.get("/api/locks").json["why"])
    state = me.get("/api/locks").json
    t.equal([state[key] for key in ("held", "waiting", "lock_count", "as_of")], [None] * 4)
    metrics = me.get("/metrics").text
    t.contains(metrics, "\nholdfast_store_reachable 0\n")
    for unknown in ("holdfast_locks", "holdfast_holders", "holdfast_waiters", "holdfast_last_look"):
        t.lacks(metrics, f"\n{unknown}")
    site.end()


@case
def ask_and_break_are_refused_without_their_options(t):
    site = Site(t)
    me = site.enter()
    holder = t.hold("a")
    place = t.show("a")["holders"][0]
    t.equal(me.post("/api/ask", {"name": "a", "reason": "x"}).status, 403)
    t.equal(me.post("/api/break", {"name": "a", "typed": "a", "token": place["token"], "reason": "x"}).status, 403)
    state = me.get("/api/locks").json
    t.equal((state["allow_ask"], state["allow_break"]), (False, False))
    site.end()
    t.equal(len(t.show("a")["holders"]), 1)
    t.end(holder)


@case
def break_ends_exactly_that_place_and_writes_an_audit_line(t):
    site = Site(t, "--allow-break")
    me = site.enter()
    name = 'a "b" \u202e'
    holder = t.hold(name)
    waiter = t.start("run", name, "--", "sleep", "1000")
    t.waiting(name, 1)
    place = t.show(name)["holders"][0]
    good = {"name": name, "typed": name, "token": place["token"], "reason": "it hangs\nX"}
    for change in ({"typed": "a"}, {"typed": ""}, {"reason": " "}, {"token": ""}, {"token": "x"}, {"name": ""},
                   {"reason": "x" * 500}):
        t.equal(me.post("/api/break", good | change).status, 400, change)
    t.equal(me.post("/api/break", good | {"token": "1"}).status, 404, "a place that is not there")
    t.equal(t.show(name)["holders"][0]["token"], place["token"])
    t.equal(me.post("/api/break", good).json, {"broken": place["token"]})
    line = site.wait_for(r"audit: break .*: done")[0]
    for part in (r'lock="a \"b\" \\u202e"', f"token={place['token']}", f":{holder.pid}\"", '"it hangs\\\\nX"', "127.0.0.1"):
        t.contains(line, part)
    t.equal(t.finish(holder).code, 79, "the holder lost the lock")
    t.until("the waiter holds it", lambda: t.show(name)["holders"] and
            t.show(name)["holders"][0]["token"] != place["token"])
    t.equal(me.post("/api/break", good).status, 404, "again")
    events = me.get("/api/history").json["events"]
    t.true(any(e["event"] == "broken" and e["token"] == place["token"] for e in events), "in the history")
    site.end()
    t.end(waiter)


@case
def ask_notifies_the_holder(t):
    site = Site(t, "--allow-ask")
    me = site.enter()
    holder = t.hold("a", "--on-ask", "TERM")
    t.equal(me.post("/api/ask", {"name": "a", "reason": "deploy"}).json, {"asked": 1})
    site.wait_for(r'audit: ask lock="a" .*reason="deploy"')
    t.finish(holder)
    site.end()


@case
def oversized_and_malformed_requests_are_refused(t):
    site = Site(t, "--allow-break")
    me = site.enter()
    t.equal(me.post("/api/break", b'{"name":"' + b"x" * 5000 + b'"}').status, 413)
    for body in (b"", b"{", b"[]", b"null", b'"x"', b'{"name":1}', b'{"name":"a","name":"b"}', b'{"name":"\\x"}',
                 b'{"name":"\\ud800"}', b'{"name":"\\u0000"}', b'{"name":"\xff"}', b'{"name":"a"', b'{"name":"a"}x',
                 b'{"a":{"b":"c"}}', b'{"name":"\\u12"}', b'{,}', b'{"name" "a"}', b'\0', b'{"name":"\n"}',
                 b'{"' + b"n" * 99 + b'":"a"}'):
        t.equal(me.post("/api/break", body).status, 400, body)
    for head in (b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nX: " + b"a" * 70000 + b"\r\n",
                 b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 9000,
                 b"POST /api/enter HTTP/1.1\r\nHost: " + site.host.encode() +
                 b"\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"a" * 4096 + b"\r\n" + b"1000\r\n" + b"a" * 4096):
        with site.connect() as plug:
            try:
                plug.sendall(head + b"\r\n")
                plug.shutdown(socket.SHUT_WR)
                answer = plug.recv(99)
            except OSError:
                answer = b""
            t.true(not answer or answer.split()[1][:1] == b"4", f"{head[:40]!r}: {answer!r}")
    t.equal(me.get("/api/locks/%ff%2e%2e%2f%3c").json["holders"], [])
    t.equal(me.get("/api/locks/%00").status, 404)
    t.equal(me.get("/api/history?after=x").status, 400)
    t.equal(me.get("/../../etc/passwd").status, 404)
    t.equal(me.get("/api/locks").status, 200, "the server still answers")
    t.equal(site.end(), 0)


@case
def slow_clients_do_not_delay_others(t):
    site = Site(t)
    me = site.enter()
    slow = [site.connect() for _ in range(100)]
    for plug in slow[:50]:
        plug.sendall(b"GET /api/locks HTTP/1.1\r\nHost: ")
    deaf = []  # these ask for the stream, and never read
    for _ in range(20):
        deaf.append(site.connect())
        deaf[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        deaf[-1].sendall(f"GET /api/events HTTP/1.1\r\nHost: {site.host}\r\nAuthorization: Bearer {me.token}\r\n\r\n".encode())
    stream = me.stream()
    stream.next("rows")
    begin = time.monotonic()
    for _ in range(20):
        t.equal(me.get("/api/locks").status, 200)
    t.true(time.monotonic() - begin < 10, "answers are delayed")
    holder = t.hold("a")
    stream.until("rows", lambda data: any(row["name"] == "a" for row in data["rows"]))
    t.end(holder)
    for plug in slow + deaf:
        plug.close()
    stream.close()
    t.equal(site.end(), 0)


@case
def a_stream_sends_changes_and_resumes_after_a_reconnect(t):
    site = Site(t)
    me = site.enter()
    first = t.hold("a", "--note", "grün <b>")
    stream = me.stream()
    t.equal(stream.response.headers["Content-Type"], "text/event-stream")
    data, _ = stream.until("rows", lambda data: data["rows"])
    row = data["rows"][0]
    t.equal((row["name"], row["kind"], row["holders"], row["waiters"], row["note"]), ("a", "mutex", 1, 0, "grün <b>"))
    t.contains(row["owner"], f":{first.pid}")
    waiter = t.start("run", "a", "--", "true")
    data, number = stream.until("rows", lambda data: any(r["waiters"] == 1 for r in data["rows"]))
    t.equal((data["full"], data["rows"][0]["id"]), (False, row["id"]))
    stream.close()
    again = me.stream({"Last-Event-ID": number})
    t.equal(again.next()[0], "state", "nothing is sent twice")
    other = t.hold("b")
    data, _ = again.until("rows", lambda data: True)
    t.equal((data["full"], [r["name"] for r in data["rows"]]), (False, ["b"]))
    t.end(first)
    t.finish(waiter)
    again.until("rows", lambda data: row["id"] in data["gone"])
    foreign = me.stream({"Last-Event-ID": "0123456789abcdef-7"})
    t.equal(foreign.next("rows")[1]["full"], True, "an id of another process")
    line = me.get("/api/locks/b").json
    t.equal((line["holder_count"], line["holders"][0]["pid"], line["waiters"]), (1, other.pid, []))
    events = [e["event"] for e in me.get("/api/history?name=a").json["events"]]
    t.true({"granted", "released"} <= set(events), events)
    t.end(other)
    again.close()
    many = [me.stream() for _ in range(70)]
    t.true(200 in {s.status for s in many} and 503 in {s.status for s in many}, "a limit")
    site.end()
    for each in [foreign, *many]:
        each.close()


@case
def a_stopped_holder_is_marked(t):
    stopped, other = t.hold("a"), t.hold("b")
    site = Site(t)
    me = site.enter()
    stream = me.stream()
    ids = {row["name"]: row["id"] for row in stream.next("rows")[1]["rows"]}
    t.equal(stream.next("state")[1]["stopped"], [])
    t.equal(me.get("/api/locks/a").json["holders"][0]["stopped"], False)
    stopped.send_signal(signal.SIGSTOP)
    stream.until("state", lambda data: data["stopped"] == [ids["a"]])
    t.equal(me.get("/api/locks/a").json["holders"][0]["stopped"], True)
    t.equal(me.get("/api/locks/b").json["holders"][0]["stopped"], False)
    stopped.send_signal(signal.SIGCONT)
    stream.until("state", lambda data: data["stopped"] == [])
    stream.close()
    t.end(stopped)
    t.end(other)
    site.end()


@case
def a_unix_socket_is_private_and_replaces_a_stale_one(t):
    path = t.path("web.sock")
    site = Site(t, "--allow-ask", listen=f"unix:{path}")
    t.equal(path.stat().st_mode & 0o777, 0o600)
    me = site.enter()
    t.equal(me.get("/api/locks").status, 200)
    t.equal(me.get("/api/locks", {"Host": "evil.example"}).status, 421)
    me.post("/api/ask", {"name": "x", "reason": ""})
    site.wait_for(rf'by="uid {os.getuid()} \(\w+\) pid {os.getpid()}"')
    second = t.run("web", "--listen", f"unix:{path}")
    t.equal(second.code, 69)
    t.contains(second.err, "exists already")
    t.equal(me.get("/api/locks").status, 200)
    t.equal(site.end(), 0)
    t.true(not path.exists(), "the socket is left")
    site = Site(t, listen=f"unix:{path}")
    site.end(signal.SIGKILL)
    t.true(path.exists(), "of a dead process")
    site = Site(t, listen=f"unix:{path}")
    t.equal(site.enter().get("/api/locks").status, 200)
    site.end()
    path.write_text("precious")
    t.equal(t.run("web", "--listen", f"unix:{path}").code, 69)
    t.equal(path.read_text(), "precious")


@case
def a_public_address_needs_the_host_option(t):
    done = t.run("web", "--listen", "0.0.0.0:0")
    t.equal(done.code, 64)
    t.contains(done.err, "--host")
    site = Site(t, "--host", "locks.example", listen="0.0.0.0:0")
    t.contains(site.text(), "warning: ")
    t.contains(site.text(), "open http://locks.example:")
    site.end()
    for listen in ("x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "::1:80", "unix:", "unix:" + "x" * 200):
        t.equal(t.run("web", "--listen", listen).code, 64, listen)
    done = t.run("--allow-write", executable=PROGRAM)
    t.equal(done.code, 64)
    t.equal(t.run("--help", executable=PROGRAM).code, 0)
    t.equal(t.run("web", env={"HOLDFAST_WEB_TOKEN": "short"}).code, 64)


@case
def an_unreachable_store_is_reported_without_its_password(t):
    url = "redis://user:sekret@127.0.0.1:1"
    site = Site(t, env={"HOLDFAST_URL": url})
    me = site.enter()
    t.until("the reason is reported", lambda: me.get("/api/locks").json["why"])
    state = me.get("/api/locks")
    t.equal((state.json["reachable"], state.json["complete"]), (False, False))
    t.contains(state.json["why"], "cannot be reached")
    t.contains(me.get("/metrics").text, "\nholdfast_store_reachable 0\n")
    for text in (state.text, site.text(), me.get("/metrics").text, me.stream().next("state")[1]["store"]):
        t.lacks(text, "sekret")
    site.end()


needs_program()
main()
