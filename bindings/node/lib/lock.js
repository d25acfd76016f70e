// lock.js - a lock that is held.
"use strict";
const { LockLostError, makeError } = require("./errors.js");

// Node before 18.18 has no such symbol; then only code that makes one in the same way finds it.
const asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

class Lock {
  #helper;
  #deadline;
  #controller = new AbortController();
  #released = null; // the promise of release()
  #forget;

  constructor(helper, deadline, event, options) {
    this.#helper = helper;
    this.#deadline = deadline;
    this.id = event.lock;
    this.name = event.name;
    this.token = BigInt(event.token);
    this.slot = event.slot;
    this.onAsked = options.onAsked;
    this.#forget = options.forget;
    Object.defineProperty(this, "id", { enumerable: false });
  }

  // Aborts when the lock is lost.
  get signal() {
    return this.#controller.signal;
  }

  // For how many milliseconds the lock is certainly held; 0: stop now.
  get left() {
    return this.#released || this.signal.aborted ? 0 : this.#deadline.left;
  }

  get held() {
    return this.left > 0;
  }

  // Asks the store.  Rejects with LockLostError if the lock is not held any more.
  async ensureHeld() {
    this.#throwIfNotHeld();
    await this.#ask({ op: "check", lock: this.id });
    this.#throwIfNotHeld();
  }

  // A writer becomes a reader, and no other writer gets in between.
  async downgrade() {
    this.#throwIfNotHeld();
    await this.#ask({ op: "downgrade", lock: this.id });
  }

  // Rejects with LockLostError if the lock was not yours to the end.
  release() {
    this.#released ??= this.#release();
    return this.#released;
  }

  [asyncDispose]() {
    return this.release();
  }

  // For the client: it is lost, or its time is over.
  lose(text) {
    if (this.#released === null && !this.signal.aborted)
      this.#controller.abort(new LockLostError("HF_ELOST", `"${this.name}" was lost: ${text}`));
  }

  async #release() {
    let event;
    try {
      event = await this.#helper.request({ op: "release", lock: this.id }).answer;
    } catch (error) {
      throw this.signal.aborted ? this.signal.reason : error;
    } finally {
      this.#forget(this);
    }
    if (event.error === "HF_ELOST" || this.signal.aborted)
      throw this.signal.reason ?? new LockLostError("HF_ELOST", `"${this.name}" was lost before its release`);
    if (event.error !== null)
      throw makeError(event.error, `the store has not confirmed the release of "${this.name}"`);
  }

  async #ask(request) {
    try {
      await this.#helper.request(request).answer;
    } catch (error) {
      if (error instanceof LockLostError) this.lose(error.message);
      throw error;
    }
  }

  #throwIfNotHeld() {
    if (this.#released) throw makeError("HF_ESTATE", `"${this.name}" was released`);
    if (this.#deadline.left <= 0) this.lose("its time is over");
    this.signal.throwIfAborted();
  }
}

module.exports = { Lock };
