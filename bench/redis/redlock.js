// redlock.js - npm's redlock over ioredis; see bench/redis.py and bench/death.py.
//
//     node redlock.js PORT              with both packages in $NODE_PATH
//     node redlock.js PORT hold NAME
//
// The first, of a free lock, reads "redlock COUNT" from stdin and answers "redlock COUNT
// SECONDS P50 P99", as redis_cycle.c does.  One server, one connection, settings as they come.
// The second says "tries", and "held" when it has the lock; it keeps it until it is killed.
"use strict";
const readline = require("readline");
const Redis = require("ioredis");
const Redlock = require("redlock").default;

const client = new Redis({ host: "127.0.0.1", port: Number(process.argv[2]) });
const redlock = new Redlock([client]);

function percentile(values, p) {
  return values[Math.floor((values.length - 1) * p)];
}

async function run(count) {
  const took = new Float64Array(count);
  const start = performance.now();
  for (let i = 0; i < count; i++) {
    const begin = performance.now();
    const lock = await redlock.acquire(["redlock"], 30000);
    await lock.release();
    took[i] = (performance.now() - begin) * 1000;
  }
  const seconds = (performance.now() - start) / 1000;
  took.sort();
  return `redlock ${count} ${seconds} ${percentile(took, 0.5)} ${percentile(took, 0.99)}`;
}

async function hold(name) {
  const patient = new Redlock([client], { retryCount: -1 });
  console.log("tries");
  await patient.using([name], 5000, () => {
    console.log("held");
    return new Promise(() => {});
  });
}

async function main() {
  if (process.argv[3] === "hold") return hold(process.argv[4]);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(await run(Number(line.split(" ")[1])));
  }
  client.disconnect();
}

main().catch((error) => {
  console.error(`redlock.js: ${error}`);
  process.exit(1);
});
