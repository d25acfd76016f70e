// helper.js - one `holdfast serve` process: requests, their answers, and other events.
"use strict";
const { spawn } = require("child_process");
const { HoldfastError, makeError } = require("./errors.js");

const PROTOCOL = 1;

class Helper {
  #child;
  #events; // { onEvent(event), onEnd(error) }
  #nextId = 1;
  #pending = new Map(); // id -> { resolve, reject, entries }
  #rest = "";
  #fault = null; // why it cannot serve us: the store cannot be opened
  #ended = null; // the error with which it ended
  #ready;
  #closing = false;

  constructor(command, args, env, events) {
    this.#events = events;
    this.#child = spawn(command, ["serve", "--stdio", ...args], {
      stdio: ["pipe", "pipe", "inherit"],
      env,
    });
    this.#child.on("error", (error) => this.#end(cannotStart(command, error)));
    this.#child.on("close", (code, signal) => this.#end(this.#fault ?? hasEnded(command, code, signal)));
    this.#ready = new Promise((resolve, reject) => {
      this.#pending.set(null, { resolve, reject });
    });
    this.#ready.catch(() => {}); // whoever sends a request sees it
    if (!this.#child.stdin) return; // no descriptor is left for its pipes: its "error" follows
    this.#child.stdin.on("error", () => {}); // its end follows
    this.#child.stdout.setEncoding("utf8");
    this.#child.stdout.on("data", (text) => this.#take(command, text));
    this.#hold();
  }

  get pid() {
    return this.#child.pid;
  }

  get ended() {
    return this.#ended !== null;
  }

  // Resolves with `hello`.
  get ready() {
    return this.#ready;
  }

  // The id is there at once, the answer when it comes.  A request that is not answered yet keeps
  // Node alive; a lock that is held does not.
  request(members) {
    const id = this.#nextId++;
    const answer = new Promise((resolve, reject) => {
      if (this.#ended) return reject(this.#ended);
      this.#pending.set(id, { resolve, reject, entries: [] });
      this.#hold();
      this.#child.stdin?.write(JSON.stringify({ id, ...members }) + "\n");
    });
    return { id, answer };
  }

  // Resolves when it has released everything and ended.
  close() {
    const closed = new Promise((resolve) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null || this.ended) resolve();
      else this.#child.once("close", () => resolve());
    });
    this.#closing = true;
    this.#hold();
    this.#child.stdin?.end();
    return closed;
  }

  #hold() {
    const busy = this.#pending.size > 0 || (this.#closing && !this.ended);
    for (const part of [this.#child, this.#child.stdin, this.#child.stdout])
      busy ? part?.ref() : part?.unref();
  }

  #take(command, text) {
    if (this.ended) return;
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      let event;
      try {
        event = JSON.parse(line);
      } catch {
        return this.#refuse(new HoldfastError("HF_EUNSUPPORTED", `${command} is not the holdfast command: it says "${line}"`));
      }
      this.#handle(event);
    }
  }

  #handle(event) {
    if (event.event === "hello") return this.#greet(event);
    if (event.id === null && this.#pending.has(null)) {
      this.#fault = makeError(event.error, event.text); // its end follows
      return;
    }
    const pending = this.#pending.get(event.id);
    if (event.event === "entry") {
      pending?.entries.push(event);
      return;
    }
    this.#events.onEvent(event); // before the answer: `held` and `released` are both
    if (pending === undefined) return;
    this.#pending.delete(event.id);
    this.#hold();
    if (event.event === "failed") pending.reject(makeError(event.error, event.text));
    else pending.resolve(event.event === "done" ? { ...event, entries: pending.entries } : event);
  }

  #greet(hello) {
    const { resolve, reject } = this.#pending.get(null);
    this.#pending.delete(null);
    this.#hold();
    if (hello.protocol === PROTOCOL) return resolve(hello);
    const error = new HoldfastError(
      "HF_EUNSUPPORTED",
      `holdfast ${hello.version} speaks protocol ${hello.protocol}, not ${PROTOCOL}: update this package`,
    );
    reject(error);
    this.#refuse(error);
  }

  // We do not understand it.
  #refuse(error) {
    this.#end(error);
    this.#child.stdin.end();
    this.#child.stdout.destroy();
  }

  #end(error) {
    if (this.#ended) return;
    this.#ended = error;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#hold();
    this.#events.onEnd(error);
    for (const { reject } of pending) reject(error);
  }
}

function cannotStart(command, error) {
  return new HoldfastError("HF_ENOTFOUND", `cannot start ${command}: ${error.message}`, { cause: error });
}

function hasEnded(command, code, signal) {
  return new HoldfastError(
    "HF_EDOWN",
    signal
      ? `the holdfast helper was killed by ${signal}`
      : `the holdfast helper, ${command} serve, has ended with ${code}`,
  );
}

module.exports = { Helper };
