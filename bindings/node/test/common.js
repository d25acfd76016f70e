// common.js - what the tests share.
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const readline = require("node:readline");

const ROOT = path.resolve(__dirname, "../../..");
const BUILD = process.env.BUILD ?? path.join(ROOT, "build");
const HOLDFAST = path.join(BUILD, "holdfast");
process.env.HOLDFAST_COMMAND = HOLDFAST;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-node."));
process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
process.env.HOLDFAST_URL = `sqlite:${folder}/locks.db`;

// Polls until the condition holds; resolves with its value.
async function until(what, condition, limit = 30_000) {
  const end = Date.now() + limit;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}

// A process whose lines can be awaited; it is killed at the end of the test `t`.
function start(t, command, args, options = {}) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], ...options });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exited = new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ?? code)));
  t.after(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return { child, exited, line: async () => (await lines.next()).value };
}

// A Redis of this test alone, whose leases take so many seconds; null: there is none here.
async function redis(t) {
  const server = start(t, "python3", ["-B", path.join(__dirname, "redis.py"), ROOT]);
  const address = await server.line();
  if (!address) return null;
  return { url: (lease) => `redis://${address}?ttl=${lease}s`, server };
}

module.exports = { BUILD, HOLDFAST, ROOT, folder, redis, start, until };
