// node_locks.js - locks in Node: the package, a process for each lock, npm's redlock; see bench/node.py.
//
//     node node_locks.js PACKAGE HOLDFAST URL [ADDRESS]     ADDRESS: of the Redis of URL, for redlock
//
// Reads "SIDE one COUNT" (one lock after the other), "SIDE many COUNT" (so many at once, each another
// name) and "SIDE crowd COUNT" (so many wait for one lock, then each gets it), and answers one line of JSON
// with times in microseconds and the memory of all helpers in KB.
"use strict";
const { spawn } = require("child_process");
const fs = require("fs");
const readline = require("readline");

const [, , PACKAGE, HOLDFAST, URL, ADDRESS] = process.argv;
const { Client } = require(PACKAGE);
const clock = () => Number(process.hrtime.bigint()) / 1000;

function memoryOf(pids) {
  const pss = (pid) => Number(/Pss:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))[1]);
  return pids.reduce((sum, pid) => sum + pss(pid), 0);
}

// ---- Sides: acquire(name) resolves with { release(), pid } ----

function helper() {
  const client = new Client({ url: URL, command: HOLDFAST });
  let pid;
  return {
    async acquire(name) {
      const lock = await client.lock(name);
      pid ??= (await client.list(name)).find((place) => place.held).pid;
      return { release: () => lock.release(), pid };
    },
  };
}

function perLock() {
  return {
    acquire: (name) =>
      new Promise((resolve, reject) => {
        const child = spawn(HOLDFAST, ["hold", "-q", "--url", URL, "--status-fd", "1", name], {
          stdio: ["pipe", "pipe", "inherit"],
        });
        const exited = new Promise((done) => child.on("exit", done));
        const release = () => (child.stdin.end(), exited);
        readline.createInterface({ input: child.stdout }).on("line", (line) => {
          const { event } = JSON.parse(line);
          if (event === "held") resolve({ release, pid: child.pid });
          if (event === "failed") reject(new Error(line));
        });
      }),
  };
}

function redlock() {
  const Redis = require("ioredis");
  const Redlock = require("redlock").default;
  const [host, port] = ADDRESS.split(":");
  const locks = new Redlock([new Redis({ host, port: Number(port) })], { retryCount: -1 });
  return {
    async acquire(name) {
      const lock = await locks.acquire([name], 30000);
      return { release: () => lock.release() };
    },
  };
}

// ---- Scenarios ----

async function timed(call) {
  const begin = clock();
  const value = await call();
  return [clock() - begin, value];
}

async function one(side, count) {
  const took = [];
  for (let i = 0; i < count; i++) {
    const [acquire, lock] = await timed(() => side.acquire("one"));
    const [release] = await timed(() => lock.release());
    took.push(acquire + release);
  }
  took.sort((a, b) => a - b);
  return { p50: took[took.length >> 1], p99: took[Math.floor((took.length - 1) * 0.99)] };
}

async function many(side, count) {
  const names = Array.from({ length: count }, (_, number) => `many${number}`);
  const [all, locks] = await timed(() => Promise.all(names.map((name) => side.acquire(name))));
  const pids = [...new Set(locks.map((lock) => lock.pid).filter(Boolean))];
  const memory = memoryOf(pids);
  const [released] = await timed(() => Promise.all(locks.map((lock) => lock.release())));
  return { all, released, memory };
}

async function crowd(side, count) {
  const first = await side.acquire("crowd");
  const all = Array.from({ length: count }, () => side.acquire("crowd").then((lock) => lock.release()));
  await new Promise((done) => setTimeout(done, 1000)); // all wait
  const memory = first.pid ? memoryOf([first.pid]) : 0;
  const [passed] = await timed(async () => {
    await first.release();
    await Promise.all(all);
  });
  return { each: passed / count, memory };
}

const made = {};
const makers = { helper, process: perLock, redlock };
const scenarios = { one, many, crowd };

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [name, scenario, count] = line.split(" ");
    const side = (made[name] ??= makers[name]());
    await (await side.acquire("warm")).release();
    console.log(JSON.stringify(await scenarios[scenario](side, Number(count))));
  }
  process.exit(0);
})();
