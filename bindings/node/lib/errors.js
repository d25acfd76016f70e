// errors.js - what can go wrong, with the library's code: HF_EDOWN, HF_EINVAL...
"use strict";

class HoldfastError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.code = code;
  }

  get name() {
    return this.constructor.name;
  }
}

// The lock was yours, but not to the end.
class LockLostError extends HoldfastError {}

// Somebody else has the lock, and the time limit is over.
class LockTimeoutError extends HoldfastError {}

const CLASSES = {
  HF_ELOST: LockLostError,
  HF_EBUSY: LockTimeoutError,
  HF_ETIMEOUT: LockTimeoutError,
};

function makeError(code, message) {
  return new (CLASSES[code] ?? HoldfastError)(code, message);
}

module.exports = { HoldfastError, LockLostError, LockTimeoutError, makeError };
