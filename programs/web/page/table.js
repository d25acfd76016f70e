// table.js - a row for each lock, the most contended first.
import { age, clean, make, number, setText } from "./text.js";

const FOLDED = 12; // if more locks than this have no waiters, they are folded
const FORGOTTEN_MS = 7500; // an older lease is unknown
const STEP = 100; // rows shown at a time

const COLUMNS = ["name", "kind", "waiters", "longest", "holder", "held", "lease", "command", "note"];

/** A colour for the longest wait: 0 to 3. */
function heat(ms) {
  return ms >= 600000 ? 3 : ms >= 60000 ? 2 : ms >= 10000 ? 1 : 0;
}

/** The bar of a lease: how much is left, compared with the longest that was seen. */
export function leaseBar(kind, leftMs, fullMs, unseenMs = 0) {
  if (kind === "process") return { text: "kernel", share: 1, low: false };
  if (kind !== "timed" || !(fullMs > 0) || unseenMs > FORGOTTEN_MS) return { text: "–", share: 0, low: false };
  const left = Math.max(0, leftMs);
  return { text: `${(left / 1000).toFixed(left < 10000 ? 1 : 0)}s`,
    share: Math.min(1, left / fullMs), low: left < fullMs / 4 };
}

export class Table {
  constructor(now) {
    this.now = now; // the server's time, ms
    this.rows = new Map(); // id -> row
    this.names = new Map(); // name -> row
    this.leaseMs = 0;
    this.unknown = ""; // why the store was never read
    this.limit = STEP;
    this.unfolded = false;
    this.filter = "";
    this.selected = null; // name
    this.opened = null; // name
    this.body = document.getElementById("rows");
    this.count = document.getElementById("count");
    this.fold = document.querySelector("#fold button");
    this.more = document.querySelector("#more button");
    this.empty = document.getElementById("empty");
    this.fold.addEventListener("click", () => { this.unfolded = !this.unfolded; this.draw(); });
    this.more.addEventListener("click", () => { this.limit += STEP; this.draw(); });
  }

  // ---- Messages of the server

  take(message) {
    if (message.full) {
      for (const row of this.rows.values()) row.stale = true;
    }
    for (const fresh of message.rows) {
      const row = this.rows.get(fresh.id) || {};
      Object.assign(row, fresh, { stale: false, changed: true });
      row.sinceMs = fresh.since ? Date.parse(fresh.since) : 0;
      row.waitsMs = fresh.waits_since ? Date.parse(fresh.waits_since) : 0;
      row.untilMs = fresh.lease_until ? Date.parse(fresh.lease_until) : 0;
      row.seenMs = fresh.lease_seen ? Date.parse(fresh.lease_seen) : 0;
      row.words = `${fresh.name}\n${fresh.owner}\n${fresh.command}\n${fresh.note}`.toLowerCase();
      this.rows.set(fresh.id, row);
      this.names.set(fresh.name, row);
    }
    for (const id of message.gone) this.drop(this.rows.get(id));
    if (message.full) {
      for (const row of [...this.rows.values()]) if (row.stale) this.drop(row);
    }
  }

  takeLeases(leases) {
    for (const [id, left] of leases || []) {
      const row = this.rows.get(id);
      if (row) { row.seenMs = this.now(); row.untilMs = row.seenMs + left; }
    }
  }

  takeStopped(ids) {
    const stopped = new Set(ids);
    for (const row of this.rows.values()) {
      if (!row.stopped === !stopped.has(row.id)) continue;
      row.stopped = stopped.has(row.id);
      row.changed = true;
    }
  }

  drop(row) {
    if (!row) return;
    this.rows.delete(row.id);
    if (this.names.get(row.name) === row) this.names.delete(row.name);
  }

  // ---- Drawing

  contention(row, now) {
    return row.waitsMs ? row.waiters * Math.max(0, now - row.waitsMs) : 0;
  }

  /** The rows to show, in order; and how many have no waiters. */
  order() {
    const now = this.now();
    const wanted = this.filter.toLowerCase();
    const all = [...this.rows.values()].filter((row) => !wanted || row.words.includes(wanted));
    for (const row of all) row.contention = this.contention(row, now);
    all.sort((a, b) => b.contention - a.contention || (b.waiters > 0) - (a.waiters > 0) ||
      (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    const busy = all.filter((row) => row.waiters > 0);
    const quiet = all.length - busy.length;
    const foldable = !wanted && quiet > FOLDED;
    return { rows: foldable && !this.unfolded ? busy : all, quiet, foldable, found: all.length };
  }

  newNode(row) {
    const node = make("tr");
    node.setAttribute("role", "row");
    node.dataset.name = row.name;
    const cells = {};
    for (const column of COLUMNS) {
      cells[column] = make("td", `c-${column}`);
      cells[column].setAttribute("role", "cell");
      node.append(cells[column]);
    }
    const button = make("button", "open");
    button.type = "button";
    button.tabIndex = -1;
    button.setAttribute("aria-controls", "lock");
    button.append(make("bdi"));
    cells.name.append(button);
    cells.holder.append(make("bdi"));
    cells.command.append(make("bdi"));
    cells.note.append(make("bdi"));
    cells.lease.append(make("span", "bar", make("i")), make("span", "left"));
    row.node = node;
    row.cells = cells;
    row.button = button;
    row.changed = true;
    return node;
  }

  fill(row) {
    const c = row.cells;
    const text = (cell, value) => {
      const shown = clean(value);
      setText(cell.querySelector("bdi"), shown);
      cell.title = shown.length > 20 ? shown : "";
    };
    text(c.name, row.name);
    setText(c.kind, row.kind === "semaphore" && row.capacity ? `semaphore ${row.capacity}` : row.kind);
    setText(c.waiters, row.waiters ? number(row.waiters) : "");
    text(c.holder, row.owner + (row.holders > 1 ? ` +${number(row.holders - 1)}` : ""));
    text(c.command, (row.stopped ? "(stopped) " : "") + row.command);
    text(c.note, row.note);
    row.changed = false;
  }

  tick(row, now) {
    const c = row.cells;
    const wait = row.waitsMs ? now - row.waitsMs : 0;
    setText(c.longest, row.waitsMs ? age(wait) : "");
    setText(c.held, row.sinceMs ? age(now - row.sinceMs) : "");
    row.node.dataset.heat = row.waiters ? heat(wait) : "";
    const lease = leaseBar(row.lease, row.untilMs - now, this.leaseMs, now - row.seenMs);
    setText(c.lease.lastChild, lease.text);
    c.lease.dataset.low = lease.low;
    c.lease.dataset.kind = row.lease;
    c.lease.firstChild.firstChild.style.width = `${Math.round(lease.share * 100)}%`;
  }

  draw() {
    const { rows, quiet, foldable, found } = this.order();
    const shown = rows.slice(0, this.limit);
    const now = this.now();
    const focused = document.activeElement?.closest?.("#rows tr")?.dataset.name;
    const kept = new Set(shown.map((row) => row.node));
    for (const node of [...this.body.children]) if (!kept.has(node)) node.remove();
    let at = this.body.firstElementChild;
    for (const row of shown) {
      const node = row.node || this.newNode(row);
      if (row.changed) this.fill(row);
      this.tick(row, now);
      if (node === at) at = at.nextElementSibling;
      else this.body.insertBefore(node, at);
    }
    this.mark();
    if (focused !== undefined && this.names.has(focused) &&
        document.activeElement?.closest?.("#rows tr")?.dataset.name !== focused)
      this.names.get(focused).button?.focus({ preventScroll: true });
    this.drawCounts(found, quiet, foldable, rows.length - shown.length);
  }

  drawCounts(found, quiet, foldable, hidden) {
    const total = this.rows.size;
    setText(this.count, this.unknown ? "" : this.filter ? `${number(found)} of ${number(total)} locks`
      : total === 1 ? "1 lock" : `${number(total)} locks`);
    this.fold.parentElement.hidden = !foldable;
    setText(this.fold, this.unfolded ? "Fold quiet locks"
      : `${number(quiet)} quiet locks: nobody waits for them`);
    this.fold.setAttribute("aria-expanded", String(this.unfolded));
    this.more.parentElement.hidden = hidden <= 0;
    setText(this.more, `Show ${number(Math.min(STEP, hidden))} more of ${number(hidden)}`);
    this.empty.hidden = found > 0;
    setText(this.empty, this.unknown || (total ? "No lock has that in its name, holder, command or note."
      : "Nobody holds a lock, and nobody waits for one."));
  }

  /** Marks the selected and the open row. */
  mark() {
    for (const node of this.body.children) {
      const selected = node.dataset.name === this.selected;
      const open = node.dataset.name === this.opened;
      const button = this.names.get(node.dataset.name)?.button;
      node.classList.toggle("selected", selected);
      node.classList.toggle("opened", open);
      if (button) {
        button.tabIndex = selected || (!this.names.has(this.selected) && node === this.body.firstElementChild)
          ? 0 : -1;
        button.setAttribute("aria-expanded", String(open));
      }
    }
  }

  select(name, focus = true) {
    this.selected = name;
    this.mark();
    const button = this.names.get(name)?.button;
    if (focus && button?.isConnected) {
      button.focus({ preventScroll: true });
      button.closest("tr").scrollIntoView({ block: "nearest" });
    }
  }

  /** Moves the selection by so many rows. */
  step(by) {
    const nodes = [...this.body.children];
    if (!nodes.length) return;
    const at = nodes.findIndex((node) => node.dataset.name === this.selected);
    if (at + by >= nodes.length && !this.more.parentElement.hidden) {
      this.limit += STEP;
      this.draw();
      return this.step(by);
    }
    const to = at < 0 ? 0 : Math.max(0, Math.min(nodes.length - 1, at + by));
    this.select(nodes[to].dataset.name);
  }
}
