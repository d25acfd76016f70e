"use strict";
const assert = require("node:assert");
const path = require("node:path");
const test = require("node:test");
const { BUILD, HOLDFAST, ROOT, start, until } = require("./common.js");
const holdfast = require("..");
const { Client, HoldfastError, LockLostError, LockTimeoutError } = holdfast;

test("a lock excludes others, and its token rises", async () => {
  const first = await holdfast.lock("a");
  assert.equal(typeof first.token, "bigint");
  assert.equal(first.name, "a");
  assert.equal(first.slot, null);
  assert.equal(first.left, Infinity);
  assert.equal(first.held, true);
  await assert.rejects(holdfast.lock("a", { timeout: 0 }), { name: "LockTimeoutError", code: "HF_EBUSY" });
  await assert.rejects(holdfast.lock("a", { timeout: 20 }), { name: "LockTimeoutError", code: "HF_ETIMEOUT" });
  const second = holdfast.lock("a");
  await first.ensureHeld();
  await first.release();
  await first.release();
  assert.equal(first.held, false);
  await assert.rejects(first.ensureHeld(), { code: "HF_ESTATE" });
  assert.ok((await second).token > first.token);
  await (await second).release();
});

test("a failure names the holder, and the kind of lock that it is", async () => {
  const other = new Client({ note: "x" });
  const lock = await other.lock("named");
  const held = (error) => /^"named" is held by .*\(pid \d+, \S+@\S+\)$/.test(error.message);
  await assert.rejects(holdfast.lock("named", { timeout: 0 }), held);
  await assert.rejects(holdfast.lock("named", { timeout: 20 }), (error) => {
    assert.match(error.message, /^gave up waiting: "named" is held by .*\(pid /);
    assert.ok(error.stack.includes(error.message));
    return error instanceof LockTimeoutError && error.code === "HF_ETIMEOUT";
  });
  await assert.rejects(holdfast.lock("named", { slots: 2 }), (error) => {
    assert.match(error.message, /^"named" is in use as a mutex by .*\(pid /);
    return error.code === "HF_EMISMATCH";
  });
  await lock.release();
  await other.close();
  const gpu = await holdfast.lock("gpu", { slots: 2 });
  await assert.rejects(holdfast.lock("gpu"), /"gpu" is in use as a semaphore of 2 by /);
  await gpu.release();
});

test("request() calls the function while the lock is held", async () => {
  const order = [];
  await Promise.all(
    [1, 2, 3].map((number) =>
      holdfast.request("r", async (lock) => {
        order.push(number);
        await lock.ensureHeld();
        order.push(number);
      }),
    ),
  );
  assert.deepEqual(order, [1, 1, 2, 2, 3, 3]);
  assert.equal(await holdfast.request("r", () => 7), 7);
  await assert.rejects(holdfast.request("r", () => { throw new Error("mine"); }), /mine/);
  assert.equal(await holdfast.request("r", { ifAvailable: true }, (lock) => lock.name), "r");
  await holdfast.request("r", async () => {
    assert.equal(await holdfast.request("r", { ifAvailable: true }, (lock) => lock), null);
    await assert.rejects(holdfast.request("r", { timeout: 1 }, () => {}), LockTimeoutError);
  });
  assert.deepEqual(await holdfast.list("r"), []);
});

test("statistics count all locks of the client", async () => {
  const client = new Client();
  await (await client.lock("counted")).release();
  const lock = await client.lock("counted");
  await client.breakLock("counted", lock.token);
  await until("it is lost", () => !lock.held);
  const counts = await client.stats();
  assert.deepEqual([counts.acquired, counts.released, counts.lost, counts.broken, counts.busy], [2, 1, 1, 1, 0]);
  assert.equal(counts.hold.buckets.reduce((sum, count) => sum + count), counts.hold.count);
  assert.ok(counts.hold.max_us > 0 && counts.least_left_ms === null);
  await client.close();
});

test("await using releases at the end of the block", async () => {
  const dispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");
  const lock = await holdfast.lock("u");
  await lock[dispose]();
  assert.deepEqual(await holdfast.list("u"), []);
});

test("a signal ends the wait", async () => {
  const held = await holdfast.lock("s");
  const controller = new AbortController();
  const waiting = holdfast.lock("s", { signal: controller.signal });
  await until("it waits", async () => (await holdfast.list("s")).length === 2);
  controller.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  await assert.rejects(holdfast.lock("s", { signal: AbortSignal.abort(new Error("before")) }), /before/);
  await until("it left the queue", async () => (await holdfast.list("s")).length === 1);
  await held.release();
  for (let i = 0; i < 50; i++) { // the abort crosses the grant
    const crossing = new AbortController();
    const lock = holdfast.lock("s", { signal: crossing.signal });
    setImmediate(() => crossing.abort(new Error("enough")));
    await lock.then((one) => one.release(), (error) => assert.match(error.message, /enough/));
  }
  await until("nothing is left", async () => (await holdfast.list("s")).length === 0);
});

test("readers share, slots are numbered, claims do not queue", async () => {
  const readers = await Promise.all([1, 2].map(() => holdfast.lock("rw", { shared: true })));
  await assert.rejects(holdfast.lock("rw", { shared: false, timeout: 0 }), LockTimeoutError);
  await Promise.all(readers.map((lock) => lock.release()));
  const writer = await holdfast.lock("rw", { mode: "exclusive" });
  await writer.downgrade();
  const reader = await holdfast.lock("rw", { mode: "shared", timeout: 0 });
  await writer.release();
  await reader.release();
  const slots = await Promise.all([1, 2].map(() => holdfast.lock("gpu", { slots: 2 })));
  assert.deepEqual(slots.map((lock) => lock.slot).sort(), [0, 1]);
  await assert.rejects(holdfast.lock("gpu", { slots: 2, weight: 2, timeout: 0 }), LockTimeoutError);
  await assert.rejects(holdfast.lock("gpu", { timeout: 0 }), { code: "HF_EMISMATCH" });
  await Promise.all(slots.map((lock) => lock.release()));
  await (await holdfast.lock("c", { claim: true })).release();
});

test("bad arguments are named", async () => {
  await assert.rejects(holdfast.lock("a", { timout: 1 }), /"timout"/);
  await assert.rejects(holdfast.lock("a", { timeout: -1 }), /timeout/);
  await assert.rejects(holdfast.lock("a", { mode: "x" }), /mode/);
  await assert.rejects(holdfast.lock(7), /string/);
  await assert.rejects(holdfast.lock("a/b"), { code: "HF_EINVAL", message: /'\/'/ });
  await assert.rejects(holdfast.lock("a", { shared: true, slots: 2 }), /mutually exclusive/);
  await assert.rejects(holdfast.request("a"), /function/);
  await assert.rejects(new Client({ url: "" }).lock("a"), { code: "HF_EINVAL", message: /is empty/ });
  await assert.rejects(new Client({ url: "bogus" }).lock("a"), { code: "HF_EINVAL", message: /"bogus" is not a store/ });
  await assert.rejects(new Client({ url: "bogus" }).where(), HoldfastError);
  await assert.rejects(new Client({ command: "/no/such/file" }).lock("a"), { code: "HF_ENOTFOUND" });
});

test("arguments of another type are refused", async () => {
  for (const options of [{ timeout: "5" }, { timeout: null }, { shared: 1 }, { shared: "yes" }, { claim: "x" },
    { ifAvailable: 1 }, { signal: 7 }, { onPlace: 7 }, { onAsked: "x" }, { slots: 2n }, { maxWaiters: "1" },
    { weight: null }, { note: 7 }, 5000, [], null, "x"])
    await assert.rejects(holdfast.lock("a", options), TypeError, JSON.stringify(options, (_, value) => String(value)));
  await assert.rejects(holdfast.request("a", null, () => {}), TypeError);
  for (const options of [{ urll: "x" }, { url: 7 }, { note: 7 }, { command: 7 }, "redis://db1", null])
    assert.throws(() => new Client(options), TypeError, String(options));
  await (await holdfast.lock("a", { signal: undefined, shared: undefined, note: undefined })).release();
  await (await holdfast.lock("a", undefined)).release();
});

test("a request that is too long is answered", async () => {
  for (const name of ["x".repeat(300), "x".repeat(20_000)])
    await assert.rejects(holdfast.lock(name), { code: "HF_EINVAL", message: /longer than/ });
});

test("asked, broken, listed", async () => {
  const asked = [];
  const lock = await holdfast.lock("l", { note: "mine", onAsked: (reason) => asked.push(reason) });
  assert.equal(await holdfast.ask("l", "please"), 1);
  await until("it is asked", () => asked.length === 1);
  assert.equal(await holdfast.isHeld("l", lock.token), true);
  const [place] = await holdfast.list("l");
  assert.equal(place.token, lock.token);
  assert.equal(place.note, "mine");
  assert.ok(place.since instanceof Date);
  await holdfast.breakLock("l", lock.token);
  await until("the signal aborts", () => lock.signal.aborted);
  assert.ok(lock.signal.reason instanceof LockLostError);
  assert.equal(lock.held, false);
  assert.equal(await holdfast.isHeld("l", lock.token), false);
  await assert.rejects(lock.ensureHeld(), LockLostError);
  await assert.rejects(lock.release(), LockLostError);
  await assert.rejects(
    holdfast.request("l", async (one) => holdfast.breakLock("l", one.token)), LockLostError);
});

test("places are reported to those who ask for it", async () => {
  const held = await holdfast.lock("p");
  const places = [];
  const waiting = holdfast.lock("p", { onPlace: (ahead) => places.push(ahead) });
  await until("its place is known", () => places.length > 0);
  assert.equal(places[0], 1);
  await held.release();
  await (await waiting).release();
});

// The command hold is C, the third one Python.
test("one queue with holders in C and Python, first come first served", async (t) => {
  const order = [];
  const first = await holdfast.lock("q");
  const c = start(t, HOLDFAST, ["hold", "-q", "--status-fd", "1", "q"]);
  await until("C waits", async () => (await holdfast.list("q")).length === 2);
  const code = "import holdfast\nwith holdfast.Lock('q'):\n print('held', flush=True); input()\n";
  const python = start(t, "/usr/bin/python3", ["-c", code], {
    env: {
      ...process.env,
      PYTHONPATH: path.join(ROOT, "bindings/python/src"),
      PYTHONDONTWRITEBYTECODE: "1",
      HOLDFAST_LIBRARY: path.join(BUILD, "libholdfast.so"),
    },
  });
  // Python's main thread queues once more after 20 ms: see docs/python.md.
  await until("Python waits", async () => (await holdfast.list("q"))[2]?.age_ms > 200);
  const last = holdfast.lock("q").then((lock) => (order.push("node"), lock));
  await until("Node waits", async () => (await holdfast.list("q")).length === 4);
  await first.release();
  for (let event = {}; event.event !== "held"; ) event = JSON.parse(await c.line());
  order.push("c");
  c.child.stdin.end();
  assert.equal(await python.line(), "held");
  order.push("python");
  python.child.stdin.end("\n");
  await (await last).release();
  assert.deepEqual(order, ["c", "python", "node"]);
});

test("a thousand waiters in one helper", async () => {
  const first = await holdfast.lock("many");
  const order = [];
  const all = Array.from({ length: 1000 }, (_, number) =>
    holdfast.request("many", () => order.push(number)));
  await until("all wait", async () => (await holdfast.list("many")).length === 1001);
  await first.release();
  await Promise.all(all);
  assert.deepEqual(order, Array.from({ length: 1000 }, (_, number) => number));
});

test.after(async () => {
  assert.deepEqual(await holdfast.list(), []);
});
