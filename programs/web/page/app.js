// app.js - the page: the connection to the server, the header, and the keys.
import { Dialogs } from "./dialogs.js";
import { Lock } from "./lock.js";
import { Stream } from "./stream.js";
import { Table } from "./table.js";
import { clean, clock, number, setText, shortTime } from "./text.js";

const SILENT_MS = 12000; // the server sends something every 5 s
const HIDDEN_MS = 60000; // a hidden page closes its stream

const at = (id) => document.getElementById(id);
let offset = 0; // of the server's clock
let pausedAt = 0; // the server's time of the pause; 0: not paused
let token = sessionStorage.getItem("token") ?? ""; // of this tab; a cookie would go to other ports, too
let state = null;
let stream = null;
let heard = 0;
let pending = false;

function serverNow() {
  return pausedAt || Date.now() + offset;
}

// ---- Talking to the server

async function call(path, options) {
  const answer = await fetch(path, { cache: "no-store", ...options, credentials: "omit",
    headers: { Authorization: `Bearer ${token}`, ...options?.headers } });
  const body = await answer.json();
  if (answer.ok) return body;
  const error = new Error(body.error || answer.statusText);
  error.status = answer.status;
  throw error;
}

function post(path, body) {
  return call(path, { method: "POST", body: JSON.stringify(body),
    headers: { "Content-Type": "application/json" } });
}

let messageTimer;
function showMessage(text) {
  setText(at("message"), text);
  clearTimeout(messageTimer);
  messageTimer = setTimeout(() => setText(at("message"), ""), 6000);
}

// ---- The parts

const table = new Table(serverNow);
const dialogs = new Dialogs({ post, showMessage, now: serverNow });
const lock = new Lock({ get: call, now: serverNow, table, showMessage,
  onAsk: (name) => dialogs.ask(name),
  onBreak: (name, places) => dialogs.break(name, places),
  onClose: () => { table.opened = null; table.mark(); table.select(table.selected); } });

function toggle(name) {
  table.selected = name;
  if (table.opened === name) {
    lock.close();
    return;
  }
  table.opened = name;
  table.mark();
  lock.open(name);
  if (matchMedia("(max-width: 60rem)").matches) lock.root.querySelector(".close").focus();
}

// ---- The header

/** `link` is up or down, of the store; or starting, stopped or refused, of the server. */
function showLink(link, text) {
  document.body.dataset.link = link;
  setText(at("link"), text);
  at("link").title = text; // the text may be cut off
}

function drawHeader() {
  setText(at("store"), clean(state.store));
  setText(at("held"), number(state.held));
  setText(at("waiting"), number(state.waiting));
  setText(at("lost"), number(state.lost_last_hour));
  at("lost").title = state.lost_last_hour === null ? "This store keeps no history; `holdfast history --keep 1000` turns it on" : "";
  at("lost").classList.toggle("bad", state.lost_last_hour > 0);
  setText(at("p50"), shortTime(state.round_trip_p50_us));
  setText(at("p99"), shortTime(state.round_trip_p99_us));
  document.title = state.waiting ? `${number(state.waiting)} waiting – Holdfast` : "Holdfast";
}

function drawAsOf() {
  const link = document.body.dataset.link;
  if (!state) return;
  const time = link === "up" ? serverNow() : link === "down" ? Date.parse(state.as_of) : heard + offset;
  setText(at("as-of"), state.as_of ? `as of ${clock(time)}` : ""); // "": the store was never reached
}

/** Draws once per frame at most. */
function drawSoon() {
  if (pending || pausedAt) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    table.draw();
    drawHeader();
    drawAsOf();
  });
}

// ---- Messages of the server

function onRows(event) {
  const message = JSON.parse(event.data);
  const before = lock.name !== null ? table.names.get(lock.name) : null;
  const version = before?.version;
  for (const row of message.rows) row.version = event.id;
  table.take(message);
  const after = lock.name !== null ? table.names.get(lock.name) : null;
  if (lock.name !== null && (after !== before || after?.version !== version)) lock.changed();
  onHeard();
  if (state) drawSoon();
}

function onState(event) {
  const fresh = JSON.parse(event.data);
  const shift = Date.parse(fresh.now) - Date.now();
  if (!state || Math.abs(shift - offset) > 300) offset = shift;
  if (lock.name !== null && state && fresh.events !== state.events) lock.happened();
  state = fresh;
  table.leaseMs = fresh.lease_ms || 0;
  table.unknown = fresh.as_of ? "" : fresh.reachable ? "Reading the store."
    : `It is not known who holds a lock.\n${clean(fresh.why)}`;
  table.takeLeases(fresh.leases);
  table.takeStopped(fresh.stopped);
  lock.store = fresh.store;
  lock.allow = { ask: fresh.allow_ask, break: fresh.allow_break };
  onHeard();
  drawSoon();
}

function onHeard() {
  heard = Date.now();
  if (!state) return;
  if (!state.reachable) showLink("down", clean(state.why) || "the store cannot be reached");
  else if (!state.complete) showLink("starting", "reading the store");
  else showLink("up", pausedAt ? "paused" : "live");
}

// ---- The stream

function listen() {
  stream?.close();
  heard = Date.now();
  stream = new Stream("/api/events", token, { rows: onRows, state: onState }, onBroken);
}

function onBroken() {
  showLink("stopped", "the stream has stopped");
  drawAsOf();
  stream = null;
  setTimeout(begin, 2000);
}

async function begin() {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key) history.replaceState(null, "", location.pathname);
  try {
    if (key) {
      const entered = await post("/api/enter", { key }).catch(() => null); // the old token may still be valid
      token = entered?.token ?? token;
      sessionStorage.setItem("token", token);
    }
    await call("/api/session");
    listen();
  } catch (error) {
    if (error.status === 401) {
      showLink("refused", "no access"); // #no-key says what to do
      return;
    }
    showLink("stopped", "holdfast-web does not answer");
    setTimeout(begin, 2000);
  }
}

let hiddenTimer;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) {
    hiddenTimer = setTimeout(() => { stream?.close(); stream = null; }, HIDDEN_MS);
  } else if (stream === null && document.body.dataset.link !== "refused") {
    listen();
  }
});
addEventListener("hashchange", () => { if (location.hash.startsWith("#key=")) begin(); });

setInterval(() => {
  if (stream && Date.now() - heard > SILENT_MS) {
    showLink("stopped", "the stream has stopped");
    listen();
  }
  drawAsOf();
  if (pausedAt || document.hidden || !state) return;
  drawSoon();
  lock.tick();
}, 1000);

// ---- Keys and clicks

function pause() {
  pausedAt = pausedAt ? 0 : Date.now() + offset;
  at("pause").setAttribute("aria-pressed", String(pausedAt > 0));
  setText(at("pause"), pausedAt ? "Go on" : "Pause");
  document.body.classList.toggle("paused", pausedAt > 0);
  lock.paused = pausedAt > 0;
  lock.load();
  onHeard();
  drawSoon();
}

/** Acts on the open lock, or opens the selected one first. */
function withLock(act) {
  const name = lock.name ?? table.selected;
  if (name === null || !table.names.has(name)) return;
  if (lock.name === null) toggle(name);
  act(name);
}

async function breakSelected(name) {
  if (!state?.allow_break) return showMessage("holdfast-web was started without --allow-break.");
  if (!lock.places.holders.length && !lock.places.waiters.length) {
    lock.places = await call(`/api/locks/${encodeURIComponent(name)}`);
  }
  lock.breakOne();
}

function askSelected(name) {
  if (!state?.allow_ask) return showMessage("holdfast-web was started without --allow-ask.");
  dialogs.ask(name);
}

function help() {
  dialogs.help(lock.allow);
}

const KEYS = {
  "/": () => at("filter").focus(),
  "?": help,
  ArrowDown: () => table.step(1),
  ArrowUp: () => table.step(-1),
  PageDown: () => table.step(15),
  PageUp: () => table.step(-15),
  a: () => withLock(askSelected),
  b: () => withLock(breakSelected),
  p: pause,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialogs.isOpen()) return;
  if (event.key === "Escape") {
    if (event.target === at("filter") && at("filter").value) return; // the browser clears it
    if (lock.name !== null) lock.close();
    else table.select(table.selected);
    return;
  }
  const typing = event.target.matches("input");
  if (typing && event.key !== "ArrowDown") return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

table.body.addEventListener("click", (event) => {
  const name = event.target.closest("tr")?.dataset.name;
  if (name !== undefined && getSelection().isCollapsed) toggle(name);
});
table.body.addEventListener("focusin", (event) => {
  const name = event.target.closest("tr")?.dataset.name;
  if (name !== undefined && name !== table.selected) { table.selected = name; table.mark(); }
});
at("filter").addEventListener("input", (event) => { table.filter = event.target.value; table.draw(); });
at("tools").addEventListener("submit", (event) => { event.preventDefault(); table.step(0); });
at("pause").addEventListener("click", pause);
at("help").addEventListener("click", help);

begin();
