// deadline.js - until when the locks of a session are certainly held.
//
// Node can read neither CLOCK_BOOTTIME nor the helper's mind, so two clocks decide, and the earlier
// one counts: the monotonic clock stands still while the machine sleeps, and the time of day may be
// set back.
"use strict";

class Deadline {
  #monotonic = Infinity;
  #wall = Infinity;

  // From an event of the helper that has one.
  set(event) {
    this.#monotonic = event.monotonic_ms ?? Infinity;
    this.#wall = event.deadline === null ? Infinity : Date.parse(event.deadline);
  }

  // Milliseconds; Infinity: as long as the helper lives.
  get left() {
    if (this.#monotonic === Infinity) return Infinity;
    const now = Number(process.hrtime.bigint() / 1000n) / 1000;
    return Math.max(0, Math.min(this.#monotonic - now, this.#wall - Date.now()));
  }
}

module.exports = { Deadline };
