// redlock.js - a process that works under npm's redlock, by using(), which extends the lock; see stamp.py.
//
//     node redlock.js ADDRESS FILE WHO SECONDS LEASE [signal]      with redlock and ioredis in $NODE_PATH
//
// With "signal" it stops when signal.aborted is set, as its documentation asks.
"use strict";
const fs = require("fs");
const path = require("path");
const Redis = require("ioredis");
const Redlock = require("redlock").default;

const [address, file, who, seconds, lease, signals] = process.argv.slice(2);
const fd = fs.openSync(file, "a");
const now = () => Number(process.hrtime.bigint());

function add(e, more) {
  fs.writeSync(fd, JSON.stringify({ t: now(), who, n: 1, e, ...more }) + "\n");
}

async function main() {
  const [host, port] = address.split(":");
  const redlock = new Redlock([new Redis({ host, port: Number(port) })], { retryCount: -1 });
  redlock.on("error", () => {});
  add("want", { lock: "a", weight: 1, capacity: 1 });
  await redlock.using([path.basename(path.dirname(file))], Number(lease) * 1000, async (signal) => {
    add("grant", { token: null, requeued: false, deadline: Number.MAX_SAFE_INTEGER });
    const end = now() + Number(seconds) * 1e9;
    while (now() < end && !(signals && signal.aborted)) {
      add("last", { last: now(), deadline: Number.MAX_SAFE_INTEGER });
      await new Promise((done) => setTimeout(done, 10));
    }
    add("release", { begun: now(), result: "0" });
  });
}

main().catch(() => {}).finally(() => process.exit(0));
