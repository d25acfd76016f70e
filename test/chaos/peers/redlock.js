// redlock.js - a process that works under npm's redlock, by using(), which extends the lock; see stamp.py.
//
//     node redlock.js ADDRESS FILE WHO LEASE [signal]      with redlock and ioredis in $NODE_PATH
//
// With "signal" it stops when signal.aborted is set, as its documentation asks.
"use strict";
const fs = require("fs");
const path = require("path");
const Redis = require("ioredis");
const Redlock = require("redlock").default;

const [address, file, who, lease, signals] = process.argv.slice(2);
const fd = fs.openSync(file, "a");
const now = () => Number(process.hrtime.bigint());

function add(e, more) {
  fs.writeSync(fd, JSON.stringify({ t: now(), who, n: 1, e, ...more }) + "\n");
}

// Read the set, pause, write it back with one element more.
let elements = 0;
async function change(goOn) {
  const set = path.join(path.dirname(file), "a.set");
  const text = fs.existsSync(set) ? fs.readFileSync(set, "utf8") : "";
  const pause = now() + Math.random() * 0.4e9;
  const act = () => add("last", { last: now(), deadline: null });
  while (now() < pause) {
    act();
    await new Promise((done) => setTimeout(done, 10));
    if (!goOn()) return;
  }
  const element = `${who}/${++elements}`;
  fs.writeFileSync(`${set}.${who}`, `${text}${element}\n`);
  fs.renameSync(`${set}.${who}`, set);
  add("add", { lock: "a", element, fenced: false, ok: true });
  act();
}

async function main() {
  const [host, port] = address.split(":");
  const redlock = new Redlock([new Redis({ host, port: Number(port) })], { retryCount: -1 });
  redlock.on("error", () => {});
  add("want", { lock: "a", weight: 1, capacity: 1 });
  await redlock.using([path.basename(path.dirname(file))], Number(lease) * 1000, async (signal) => {
    add("grant", { token: null, requeued: false, deadline: null });
    const over = path.join(path.dirname(file), `${who}.over`);
    const goOn = () => !fs.existsSync(over) && !(signals && signal.aborted);
    while (goOn()) await change(goOn);
    add("release", { begun: null, result: null });
  });
}

main().catch(() => {}).finally(() => process.exit(0));
