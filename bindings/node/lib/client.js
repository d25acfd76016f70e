// client.js - one session in one store, for any number of locks.
"use strict";
const { findCommand } = require("./command.js");
const { Deadline } = require("./deadline.js");
const { HoldfastError, LockTimeoutError, makeError } = require("./errors.js");
const { Helper } = require("./helper.js");
const { Lock } = require("./lock.js");

const OPTIONS = {
  timeout: "number",
  ifAvailable: "boolean",
  signal: "object",
  shared: "boolean",
  mode: "string",
  slots: "number",
  weight: "number",
  claim: "boolean",
  maxWaiters: "number",
  note: "string",
  onPlace: "function",
  onAsked: "function",
};
const CLIENT_OPTIONS = { url: "string", note: "string", command: "string" };
const LONGEST_TIMER = 2 ** 31 - 1;
const EXPLAINED = new Set(["HF_EBUSY", "HF_ETIMEOUT", "HF_EMISMATCH"]);
const PATIENCE_MS = 1000;

// What the helper is to be asked for.
function acquireRequest(name, options) {
  checkOptions(options, OPTIONS);
  const { timeout, ifAvailable, shared = fromMode(options.mode), slots, claim } = options;
  if (typeof name !== "string") throw new TypeError("the name of a lock must be a string");
  if (timeout !== undefined && !(timeout >= 0))
    throw new TypeError("timeout must be a number of milliseconds: 0 or more, or Infinity");
  if ((shared !== undefined) + (slots !== undefined) + Boolean(claim) > 1)
    throw new TypeError("shared, slots and claim are mutually exclusive");
  return {
    op: "acquire",
    name,
    kind: claim ? "claim" : slots !== undefined ? "semaphore" : { true: "reader", false: "writer" }[shared],
    slots,
    weight: options.weight,
    timeout_ms: ifAvailable ? 0 : timeout === Infinity ? undefined : timeout && Math.ceil(timeout),
    max_waiters: options.maxWaiters,
    note: options.note,
    place: options.onPlace !== undefined || undefined,
  };
}

// A typing error must not make another lock of it, or one in another store.
function checkOptions(options, known) {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw new TypeError("the options must be an object");
  for (const [key, value] of Object.entries(options)) {
    if (!Object.hasOwn(known, key)) throw new TypeError(`there is no option "${key}"`);
    if (value !== undefined && (typeof value !== known[key] || value === null))
      throw new TypeError(`${key} must be a ${known[key]}, not ${value === null ? "null" : typeof value}`);
  }
}

function fromMode(mode) {
  if (mode === undefined) return undefined;
  if (mode !== "shared" && mode !== "exclusive") throw new TypeError('mode must be "shared" or "exclusive"');
  return mode === "shared";
}

class Client {
  #options;
  #session = null; // { helper, deadline, locks, waiting, timer }
  #closed = false;

  // { url, note, command }: without a URL that of $HOLDFAST_URL, or the file of this user.
  constructor(options = {}) {
    checkOptions(options, CLIENT_OPTIONS);
    this.#options = options;
  }

  // Resolves with a Lock.
  lock(name, options = {}) {
    return this.#lock(name, options, false);
  }

  // `silent`: nobody reads the message of the failure.
  async #lock(name, options, silent) {
    const request = acquireRequest(name, options);
    options.signal?.throwIfAborted();
    const session = this.#open();
    const { id, answer } = session.helper.request(request);
    session.waiting.set(id, options);
    const giveUp = () => this.#giveUp(session, id);
    options.signal?.addEventListener("abort", giveUp, { once: true });
    try {
      await answer;
      if (session.waiting.get(id) === null) throw options.signal.reason; // granted, and given up
      return session.locks.get(id);
    } catch (error) {
      const explained = options.signal?.aborted || silent ? error : await explain(error, name, session.helper);
      throw options.signal?.aborted ? options.signal.reason : explained;
    } finally {
      session.waiting.delete(id);
      options.signal?.removeEventListener("abort", giveUp);
    }
  }

  // As navigator.locks.request(): calls fn(lock), and releases the lock when that has settled.
  async request(name, options, fn) {
    if (typeof options === "function") [options, fn] = [{}, options];
    if (typeof fn !== "function") throw new TypeError("request() needs a function to call");
    let lock = null;
    try {
      lock = await this.#lock(name, options, options?.ifAvailable);
    } catch (error) {
      if (!options?.ifAvailable || !(error instanceof LockTimeoutError)) throw error;
    }
    let result;
    try {
      result = await fn(lock);
    } catch (error) {
      await lock?.release().catch(() => {}); // the first error says more
      throw error;
    }
    await lock?.release();
    return result;
  }

  // Holders and waiters, in the order of their queues.
  async list(name) {
    const { entries } = await this.#ask({ op: "list", name });
    return entries.map(({ time, event, id, token, since, ...entry }) => ({
      ...entry,
      token: BigInt(token),
      since: new Date(since),
    }));
  }

  // Asks the holders of a lock to give it up; resolves with their number.
  async ask(name, reason) {
    return (await this.#ask({ op: "ask", name, reason })).count;
  }

  // Takes the place with this token away from its owner.
  async breakLock(name, token) {
    await this.#ask({ op: "break", name, token: String(token) });
  }

  // Does this token hold the lock now?
  async isHeld(name, token) {
    try {
      await this.#ask({ op: "check", name, token: String(token) });
      return true;
    } catch (error) {
      if (error.code === "HF_ELOST") return false;
      throw error;
    }
  }

  // What the helper has counted since it was started.
  async stats() {
    const { time, event, id, ...counts } = await this.#ask({ op: "stats" });
    return counts;
  }

  // The URL of the store, without passwords.
  async where() {
    return (await this.#open().helper.ready).url;
  }

  // Releases everything.
  async close() {
    this.#closed = true;
    await this.#session?.helper.close();
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.close();
  }

  #ask(request) {
    return this.#open().helper.request(request).answer;
  }

  // The helper is started by the first call, and again after it has died.
  #open() {
    if (this.#closed) throw new HoldfastError("HF_ESTATE", "this client is closed");
    if (this.#session === null || this.#session.helper.ended) this.#session = this.#start();
    return this.#session;
  }

  #start() {
    const { url, note, command } = this.#options;
    const session = { deadline: new Deadline(), locks: new Map(), waiting: new Map(), timer: null };
    const env = url === undefined ? process.env : { ...process.env, HOLDFAST_URL: url }; // it may have a password
    session.helper = new Helper(command ?? findCommand(), note === undefined ? [] : ["--note", note], env, {
      onEvent: (event) => this.#onEvent(session, event),
      onEnd: (error) => this.#onEnd(session, error),
    });
    return session;
  }

  // The acquire is answered in any case; if by a grant, nobody gets the lock.
  #giveUp(session, id) {
    session.waiting.set(id, null);
    session.locks.delete(id);
    session.helper.request({ op: "release", lock: id }).answer.catch(() => {});
  }

  #onEvent(session, event) {
    const lock = session.locks.get(event.lock);
    if (event.event === "held") this.#granted(session, event);
    else if (event.event === "renewed") this.#renew(session, event);
    else if (event.event === "place") call(session.waiting.get(event.lock)?.onPlace, event.ahead);
    else if (event.event === "asked") call(lock?.onAsked, event.reason, lock);
    else if (event.event === "lost")
      lock?.lose(event.why === "expired" ? "the store did not answer in time" : "the store says so");
  }

  #granted(session, event) {
    this.#renew(session, event);
    const options = session.waiting.get(event.lock);
    if (!options) return; // given up
    const lock = new Lock(session.helper, session.deadline, event, {
      onAsked: options.onAsked,
      forget: (old) => session.locks.delete(old.id),
    });
    session.locks.set(event.lock, lock);
  }

  // Wake up at the deadline: the helper may be stopped, and then it says nothing.
  #renew(session, event) {
    session.deadline.set(event);
    this.#setTimer(session);
  }

  #setTimer(session) {
    clearTimeout(session.timer);
    const left = session.deadline.left;
    if (left === Infinity) return;
    session.timer = setTimeout(() => this.#onDeadline(session), Math.min(left + 1, LONGEST_TIMER));
    session.timer.unref();
  }

  // Node counts from the beginning of its turn, so a timer that was set late in a long one is early.
  #onDeadline(session) {
    if (session.deadline.left > 0) return this.#setTimer(session);
    for (const lock of session.locks.values()) lock.lose("its time is over");
  }

  #onEnd(session, error) {
    clearTimeout(session.timer);
    for (const lock of session.locks.values()) lock.lose(error.message);
    session.locks.clear();
  }
}

// Not at once: if the callback throws, the events that follow must not be lost.
function call(callback, ...values) {
  if (callback) queueMicrotask(() => callback(...values));
}

// An error that names the holder, or the kind of lock that it is.
async function explain(error, name, helper) {
  if (!EXPLAINED.has(error.code)) return error;
  const places = await ask(name, helper);
  const holders = places.filter((place) => place.held);
  const gaveUp = error.code === "HF_ETIMEOUT" ? "gave up waiting: " : "";
  let text = `"${name}": ${error.message}`;
  if (error.code === "HF_EMISMATCH") {
    if (places.length === 0) return error;
    text = `"${name}" is in use as a ${kind(places[0])} by ${owner(places[0])}`;
  } else if (holders.length > 0) {
    const more = holders.length - 1;
    const others = more > 0 ? ` and ${more} other${more > 1 ? "s" : ""}` : "";
    text = `${gaveUp}"${name}" is held by ${owner(holders[0])}${others}`;
  }
  return makeError(error.code, text); // not only its message: its stack has a copy
}

// The failure is known, so its message must not come late.
async function ask(name, helper) {
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, PATIENCE_MS, []); });
  const answer = helper.request({ op: "list", name }).answer.then(({ entries }) => entries);
  try {
    return await Promise.race([answer.catch(() => []), late]);
  } finally {
    clearTimeout(timer);
  }
}

function kind({ kind, capacity }) {
  return kind === "semaphore" ? `semaphore of ${capacity}` : kind;
}

// It is other people's text.
function owner({ host, user, pid, command, note }) {
  const text = host ? `${command.slice(0, 60) || "a process"} (pid ${pid}, ${user || "?"}@${host})` : note || "somebody";
  return text.replace(/\p{C}|[\u2028\u2029]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

module.exports = { Client };
