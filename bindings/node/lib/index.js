// holdfast - locks shared by many processes, on one machine or many.
"use strict";
const { Client } = require("./client.js");
const { HoldfastError, LockLostError, LockTimeoutError } = require("./errors.js");
const { Lock } = require("./lock.js");

// The store of $HOLDFAST_URL, or the file of this user.  It starts no process before it is used.
const client = new Client();

const lock = (name, options) => client.lock(name, options);
const request = (name, options, fn) => client.request(name, options, fn);
const list = (name) => client.list(name);
const ask = (name, reason) => client.ask(name, reason);
const breakLock = (name, token) => client.breakLock(name, token);
const isHeld = (name, token) => client.isHeld(name, token);
const stats = () => client.stats();
const where = () => client.where();

module.exports = {
  lock,
  request,
  list,
  ask,
  breakLock,
  isHeld,
  stats,
  where,
  Client,
  Lock,
  HoldfastError,
  LockLostError,
  LockTimeoutError,
};
