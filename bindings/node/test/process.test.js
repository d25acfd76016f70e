"use strict";
const assert = require("node:assert");
const test = require("node:test");
const { redis, start, until } = require("./common.js");
const holdfast = require("..");
const { Client, LockLostError } = holdfast;

const PACKAGE = require.resolve("..");
const LEASE = 2; // seconds

// Another Node that runs this code, in which `holdfast` is the package.
function node(t, code, env = {}, options = {}) {
  return start(t, process.execPath, ["-e", `const holdfast = require(${JSON.stringify(PACKAGE)});${code}`],
    { env: { ...process.env, ...env }, ...options });
}

const HOLDS = `
  holdfast.lock("a").then(async (lock) => {
    const [{ pid }] = await holdfast.list("a");
    lock.signal.addEventListener("abort", () => console.log("lost", lock.signal.reason.code, lock.held));
    console.log(pid);
    setInterval(() => {}, 1000);
  });`;

test("a lock that is held does not keep Node alive, a pending call does", async (t) => {
  const ends = node(t, `holdfast.lock("a").then((lock) => console.log(lock.name))`);
  assert.equal(await ends.line(), "a");
  assert.equal(await ends.exited, 0);
  await until("it is free", async () => (await holdfast.list("a")).length === 0);
  const held = await holdfast.lock("a");
  const waits = node(t, `holdfast.lock("a").then((lock) => lock.release()).then(() => console.log("done"))`);
  await until("it waits", async () => (await holdfast.list("a")).length === 2);
  await held.release();
  assert.equal(await waits.line(), "done");
  assert.equal(await waits.exited, 0);
});

test("close() keeps Node alive until it is done", async (t) => {
  for (let i = 0; i < 5; i++) {
    const other = node(t, `(async () => {
      const client = new holdfast.Client();
      const lock = await client.lock("a");
      lock.release();
      await client.close();
      console.log("closed");
    })()`);
    assert.equal(await other.line(), "closed");
  }
});

test("an error in a callback of the program loses no event", async (t) => {
  const other = node(t, `
    process.on("uncaughtException", (error) => console.log(error.message));
    (async () => {
      const asked = await holdfast.lock("e1", { onAsked: () => { throw new Error("mine"); } });
      const lost = await holdfast.lock("e2");
      lost.signal.addEventListener("abort", () => console.log("lost"));
      for (let i = 0; i < 20; i++)
        await Promise.all([holdfast.ask("e1"), holdfast.ask("e1"), holdfast.list("e1"), holdfast.list("e1")]);
      await holdfast.breakLock("e2", lost.token);
    })()`);
  const lines = [];
  while (!lines.includes("lost")) lines.push(await other.line());
  assert.ok(lines.includes("mine"));
});

test("a command that is not holdfast is named", async () => {
  for (const command of ["/bin/echo", "/usr/bin/yes", "/bin/true"]) {
    const client = new Client({ command });
    await assert.rejects(client.lock("a"), { name: "HoldfastError", message: new RegExp(command) });
    await client.close();
  }
});

test("too many open files: the call fails, and a later one does not", async (t) => {
  const code = `
    const fs = require("fs"), open = [];
    try { for (;;) open.push(fs.openSync("/dev/null")); } catch {}
    const code = (error) => error.code;
    holdfast.lock("f").catch(code).then(async (what) => {
      console.log(what);
      for (const fd of open) fs.closeSync(fd);
      const lock = await holdfast.lock("f");
      console.log(lock.name);
    });`;
  const script = `ulimit -n 100; exec "${process.execPath}" -e 'const holdfast = require(${JSON.stringify(PACKAGE)});${code}'`;
  const other = start(t, "/bin/sh", ["-c", script]);
  assert.equal(await other.line(), "HF_ENOTFOUND");
  assert.equal(await other.line(), "f");
});

test("close() releases everything", async () => {
  const client = new Client();
  await client.lock("c");
  await client.close();
  assert.deepEqual(await holdfast.list("c"), []);
  await assert.rejects(client.lock("c"), { code: "HF_ESTATE" });
});

test("kill -9 of the program: the next one gets the lock", async (t) => {
  const other = node(t, HOLDS);
  await other.line();
  const next = holdfast.lock("a", { timeout: 30_000 });
  other.child.kill("SIGKILL");
  await (await next).release();
});

test("kill -9 of the helper: the signal aborts, and the next call starts another", async () => {
  const client = new Client();
  const lock = await client.lock("k");
  const waiting = client.lock("k");
  waiting.catch(() => {});
  const [{ pid }] = await client.list("k");
  process.kill(pid, "SIGKILL");
  await until("the signal aborts", () => lock.signal.aborted);
  assert.ok(lock.signal.reason instanceof LockLostError);
  await assert.rejects(waiting, { code: "HF_EDOWN", message: /SIGKILL/ });
  await assert.rejects(lock.release(), LockLostError);
  await (await client.lock("k", { timeout: 30_000 })).release();
  await client.close();
});

test("on a server", async (t) => {
  const server = await redis(t);
  if (server === null) return t.skip("no Redis here");
  const url = server.url(LEASE);
  const client = new Client({ url });
  t.after(() => client.close());

  await t.test("the lease is renewed", async () => {
    const lock = await client.lock("r");
    assert.ok(lock.left > 0 && lock.left <= LEASE * 1000, `${lock.left} ms left`);
    const begin = Date.now();
    await until("two leases are over", () => Date.now() > begin + 2 * LEASE * 1000);
    assert.ok(lock.held && !lock.signal.aborted);
    await lock.ensureHeld();
    await lock.release();
  });

  await t.test("a program that is stopped past its lease finds its signal aborted", async (t) => {
    const other = node(t, HOLDS, { HOLDFAST_URL: url });
    const helper = Number(await other.line());
    for (const pid of [other.child.pid, helper]) process.kill(pid, "SIGSTOP");
    const next = await client.lock("a", { timeout: 30_000 });
    for (const pid of [helper, other.child.pid]) process.kill(pid, "SIGCONT");
    assert.equal(await other.line(), "lost HF_ELOST false");
    await next.release();
  });

  await t.test("a helper that is stopped: the signal aborts by our own clock", async (t) => {
    const other = node(t, HOLDS, { HOLDFAST_URL: url });
    const helper = Number(await other.line());
    process.kill(helper, "SIGSTOP");
    assert.equal(await other.line(), "lost HF_ELOST false");
    await (await client.lock("a", { timeout: 30_000 })).release();
    process.kill(helper, "SIGCONT");
  });

  await t.test("the same, although the timer is early", async (t) => {
    const early = `const later = setTimeout;
      globalThis.setTimeout = (what, ms, ...rest) => later(what, ms > 500 ? ms - 300 : ms, ...rest);`;
    const other = node(t, early + HOLDS, { HOLDFAST_URL: url });
    const helper = Number(await other.line());
    process.kill(helper, "SIGSTOP");
    assert.equal(await other.line(), "lost HF_ELOST false");
    process.kill(helper, "SIGCONT");
  });

  await t.test("kill -9 of helper and program: the next one does not wait for the lease", async (t) => {
    const long = server.url(60);
    const patient = new Client({ url: long });
    t.after(() => patient.close());
    const other = node(t, HOLDS, { HOLDFAST_URL: long }, { detached: true });
    await other.line();
    const next = patient.lock("a");
    await until("the next one waits", async () => (await patient.list("a")).length === 2);
    process.kill(-other.child.pid, "SIGKILL");
    const begin = Date.now();
    await (await next).release();
    assert.ok(Date.now() - begin < 15_000, `it waited ${Date.now() - begin} ms`);
  });
});
