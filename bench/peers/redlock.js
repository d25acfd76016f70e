// redlock.js - the scenarios with npm's redlock over ioredis; see bench/scene.h.
//
//     node redlock.js ADDRESS            with both packages in $NODE_PATH
//     node redlock.js ADDRESS first      acquire one lock, print "held MICROSECONDS", and exit
//     node redlock.js ADDRESS hold NAME  prints "tries", and "held" when it has the lock, which
//                                        it keeps until it is killed
//
// Reads "SCENARIO SIZE" and answers "SCENARIO OPERATIONS SECONDS LEAST P50 P99".  One process, a
// connection for each session; default settings, but it retries without limit.
"use strict";
const readline = require("readline");
const Redis = require("ioredis");
const Redlock = require("redlock").default;

const LEASE = 30000;
const LONGEST = 3000;
const address = process.argv[2];
const sessions = [];
const input = readline.createInterface({ input: process.stdin });
const lines = input[Symbol.asyncIterator]();
let took, holders, least, seconds;
let released = 0; // when the last release began

function connect() {
  const colon = address.lastIndexOf(":");
  return colon < 0
    ? new Redis({ path: address })
    : new Redis({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)) });
}

function session(number) {
  if (sessions[number] === undefined) sessions[number] = connect();
  return new Redlock([sessions[number]], { retryCount: -1 });
}

function percentile(values, p) {
  return values.length > 0 ? values[Math.floor((values.length - 1) * p)] : 0;
}

async function takeTurn(redlock, name, hold) {
  const contended = name === "S3";
  const since = performance.now();
  const lock = await redlock.acquire([name], LEASE);
  if (contended) {
    if (++holders !== 1) throw new Error("exclusion failed");
    if (released > since) took.push((performance.now() - released) * 1000);
    if (hold > 0) await new Promise((done) => setTimeout(done, hold));
    holders--;
    released = performance.now();
  }
  await lock.release();
  if (!contended) took.push((performance.now() - since) * 1000);
}

async function repeat(redlock, name, hold, seconds) {
  const end = performance.now() + seconds * 1000;
  let count = 0;
  for (; count === 0 || performance.now() < end; count++) await takeTurn(redlock, name, hold);
  return count;
}

// The waiters try behind a holder; `then` runs when all have begun.
async function crowd(waiters, then) {
  const redlock = session(0);
  const first = await redlock.acquire(["S4"], LEASE);
  const all = Array.from({ length: waiters }, async () => {
    const lock = await redlock.acquire(["S4"], LEASE);
    await lock.release();
  });
  await then();
  await first.release();
  await Promise.all(all);
  return waiters;
}

async function mark() {
  console.log("mark");
  await lines.next();
}

// There is no queue: so many hand-overs between two sessions that both try, or until the time is over.
async function pass(waiters, hands) {
  const first = await session(0).acquire(["S8"], LEASE);
  let ended = 0;
  let start = Infinity;
  const all = Array.from({ length: waiters }, async (_, i) => {
    const redlock = session(i % 2);
    while (ended === 0) {
      const since = performance.now();
      const lock = await redlock.acquire(["S8"], LEASE);
      const now = performance.now();
      if (++holders !== 1) throw new Error("exclusion failed");
      if (released > since && ended === 0) took.push((now - released) * 1000);
      if (ended === 0 && (took.length === hands || now > start + LONGEST)) ended = now;
      holders--;
      released = performance.now();
      await lock.release();
    }
  });
  await mark();
  start = released = performance.now();
  await first.release();
  await Promise.all(all);
  seconds = (ended - start) / 1000;
  await mark();
  return took.length;
}

async function play(scenario, size) {
  const [, kind, eager, count, hold] = /^S(\d)(\+?)(?::(\d+))?(?:@(.*))?$/.exec(scenario);
  if (eager) throw new Error(`no ${scenario} here`);
  if (kind === "4") return crowd(Number(count), async () => {});
  if (kind === "7") return crowd(Number(count), mark);
  if (kind === "8") return pass(Number(count), size);
  const runs = [];
  for (let i = 0; i < Number(count || 1); i++)
    runs.push(
      kind === "3"
        ? repeat(session(i), "S3", Number(hold || 0), size)
        : repeat(session(kind === "2" ? 0 : i), `S${kind}-${process.pid}-${i}`, 0, size),
    );
  const counts = await Promise.all(runs);
  least = Math.min(...counts);
  return counts.reduce((a, b) => a + b);
}

async function hold(name) {
  const patient = new Redlock([connect()], { retryCount: -1 });
  console.log("tries");
  await patient.using([name], 5000, () => {
    console.log("held");
    return new Promise(() => {});
  });
}

async function first() {
  const lock = await session(0).acquire(["S6"], LEASE);
  console.log(`held ${process.hrtime.bigint() / 1000n}`);
  await lock.release();
}

async function serve() {
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    const [scenario, size] = line.value.split(" ");
    took = [];
    holders = least = seconds = 0;
    const start = performance.now();
    const count = await play(scenario, Number(size));
    seconds = seconds || (performance.now() - start) / 1000;
    took.sort((a, b) => a - b);
    const times = [percentile(took, 0.5), percentile(took, 0.99)];
    console.log([scenario, count, seconds, least, ...times].join(" "));
  }
}

async function main() {
  if (process.argv[3] === "hold") return hold(process.argv[4]);
  await (process.argv[3] === "first" ? first() : serve());
  input.close();
  for (const each of sessions) each.disconnect();
}

main().catch((error) => {
  console.error(`redlock.js: ${error}`);
  process.exit(1);
});
