// lock.js - one open lock: its queue, a timeline of the last 15 minutes, and commands to type.
import { age, clean, clock, foreign, make, number, owner, quote, setText } from "./text.js";
import { leaseBar } from "./table.js";
import { draw } from "./timeline.js";

const AGAIN_MS = 400; // between two requests about a lock that changes
const KEEP_MS = 16 * 60000;
const EVENTS = 12;
const WAITERS = 8; // shown of a longer queue, until the user wants all

export class Lock {
  constructor({ get, now, table, onAsk, onBreak, onClose, showMessage }) {
    Object.assign(this, { get, now, table, onAsk, onBreak, onClose, showMessage });
    this.root = document.getElementById("lock");
    this.name = null;
    this.store = "";
    this.allow = {};
    new ResizeObserver(() => this.drawTimeline()).observe(this.root);
  }

  open(name) {
    this.close(false);
    this.name = name;
    this.places = { holders: [], waiters: [], holder_count: 0, waiter_count: 0 };
    this.events = [];
    this.last = 0;
    this.wanted = this.wantedEvents = true;
    this.all = false;
    this.build();
    this.root.hidden = false;
    document.body.classList.add("has-lock");
    this.load();
  }

  close(notify = true) {
    if (this.name === null) return;
    this.name = this.loaded = null;
    this.root.hidden = true;
    this.root.replaceChildren();
    document.body.classList.remove("has-lock");
    if (notify) this.onClose();
  }

  // ---- Loading

  /** The row of the lock has changed. */
  changed() { this.wanted = true; this.load(); }

  /** There are new events, maybe of this lock. */
  happened() { this.wantedEvents = true; this.load(); }

  async load() {
    if (this.loading || (this.paused && this.loaded === this.name) || this.name === null) return;
    this.loading = true;
    const name = this.name;
    try {
      if (this.wanted) {
        this.wanted = false;
        const places = await this.get(`/api/locks/${encodeURIComponent(name)}`);
        if (this.name === name) this.places = places;
      }
      if (this.wantedEvents) {
        this.wantedEvents = false;
        await this.loadEvents(name);
      }
      if (this.name === name) {
        this.loaded = name;
        this.draw();
      }
    } catch { // the stream reports that the server does not answer
      this.wanted = this.wantedEvents = true;
    }
    setTimeout(() => {
      this.loading = false;
      if (this.wanted || this.wantedEvents) this.load();
    }, AGAIN_MS);
  }

  async loadEvents(name) {
    const answer = await this.get(`/api/history?name=${encodeURIComponent(name)}&after=${this.last}`);
    if (this.name !== name) return;
    if (answer.cut || answer.last < this.last) this.events = [];
    this.last = answer.last;
    this.exact = answer.exact;
    const oldest = this.now() - KEEP_MS;
    this.events = this.events.concat(answer.events).filter((event) => Date.parse(event.time) >= oldest);
  }

  // ---- Drawing

  build() {
    const close = make("button", "close", "Close");
    close.type = "button";
    close.addEventListener("click", () => this.close());
    const heading = make("h2", "mono", foreign(this.name));
    heading.id = "lock-name";
    this.facts = make("p", "facts-line quiet");
    this.askButton = make("button", "", "Ask…");
    this.breakButton = make("button", "danger", "Break…");
    this.askButton.type = this.breakButton.type = "button";
    this.askButton.addEventListener("click", () => this.onAsk(this.name));
    this.breakButton.addEventListener("click", () => this.breakOne());
    this.queue = make("ol", "queue");
    this.rest = make("button", "rest");
    this.rest.type = "button";
    this.rest.addEventListener("click", () => { this.all = !this.all; this.drawQueue(); this.tick(); });
    this.timeline = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.timeline.setAttribute("role", "img");
    this.timeline.setAttribute("class", "timeline");
    this.caption = make("figcaption", "quiet");
    this.source = make("p", "quiet");
    this.list = make("ol", "events mono");
    this.commands = make("ul", "commands");
    this.root.replaceChildren(
      make("div", "lock-head", heading, make("span", "space"), this.askButton, this.breakButton, close),
      this.facts,
      make("h3", "", "Queue"), this.queue, this.rest,
      make("h3", "", "Last 15 minutes"), make("figure", "", this.timeline, this.caption),
      make("details", "", make("summary", "", "Events"), this.list, this.source),
      make("h3", "", "To type"), this.commands);
    this.drawCommands();
  }

  draw() {
    const { holders, waiters } = this.places;
    const first = holders[0] || waiters[0];
    const kind = first ? first.kind + (first.kind === "semaphore" ? ` of ${first.capacity}` : "") : "free";
    setText(this.facts, first
      ? `${kind}, held by ${number(this.places.holder_count)}, waited for by ${number(this.places.waiter_count)}`
      : "Nobody holds it, and nobody waits for it.");
    this.askButton.hidden = !this.allow.ask || !holders.length;
    this.breakButton.hidden = !this.allow.break || !first;
    this.drawQueue();
    this.drawTimeline();
    this.drawEvents();
    this.drawCommands();
    this.tick();
  }

  placeItem(place, position, held) {
    const time = make("span", "time");
    time.dataset.since = Date.parse(place.since);
    const top = make("span", "top", foreign(owner(place), "mono who"), make("span", "space"), time);
    const detail = make("span", "detail quiet");
    detail.append(make("span", "mono token", `token ${place.token}`));
    if (place.slot !== null) detail.append(make("span", "", `slot ${place.slot}`));
    if (place.kind !== "mutex" && place.kind !== "semaphore") detail.append(make("span", "", place.kind));
    if (place.weight > 1 && place.capacity !== null) detail.append(make("span", "", `takes ${place.weight}`));
    if (held && place.lease !== "unknown") {
      const lease = make("span", "lease", make("span", "bar", make("i")), make("span", "left"));
      lease.dataset.kind = place.lease;
      lease.dataset.until = this.now() + (place.lease_left_ms || 0);
      detail.append(lease);
    }
    const what = make("span", "what");
    if (place.stopped) what.append(make("span", "bad", "stopped"));
    if (place.command) what.append(foreign(place.command, "mono command"));
    if (place.note) what.append(foreign(place.note, "note"));
    const item = make("li", held ? "holds" : "waits", make("span", "position", held ? make("span", "hidden", "holds") : position),
      make("div", "", top, what, detail));
    item.dataset.token = place.token;
    if (held && this.allow.break && this.places.holder_count > 1) {
      const button = make("button", "danger small", "break…");
      button.type = "button";
      button.addEventListener("click", () => this.onBreak(this.name, [place]));
      detail.append(button);
    }
    return item;
  }

  drawQueue() {
    const { holders } = this.places;
    const waiters = this.all ? this.places.waiters : this.places.waiters.slice(0, WAITERS);
    const shape = JSON.stringify([holders, waiters].map((list) =>
      list.map((p) => [p.token, p.since, p.note, p.lease, p.stopped])).concat(this.allow));
    if (shape !== this.shape || !this.queue.childElementCount) {
      this.shape = shape;
      this.queue.replaceChildren(...holders.map((place) => this.placeItem(place, 0, true)),
        ...waiters.map((place, i) => this.placeItem(place, String(i + 1), false)));
    } else {
      for (const place of holders) {
        const lease = this.queue.querySelector(`[data-token="${CSS.escape(place.token)}"] .lease`);
        if (lease) lease.dataset.until = this.now() + (place.lease_left_ms || 0);
      }
    }
    const more = this.places.waiter_count - waiters.length;
    const cut = this.places.waiter_count - this.places.waiters.length;
    this.rest.hidden = this.places.waiter_count <= WAITERS;
    setText(this.rest, !this.all ? `${number(more)} more wait` :
      cut > 0 ? `Show fewer; ${number(cut)} more are not shown` : "Show fewer");
    this.rest.setAttribute("aria-expanded", String(this.all));
  }

  drawTimeline() {
    if (this.name === null || !this.timeline) return;
    const width = Math.floor(this.timeline.parentElement.clientWidth);
    if (width < 50) return;
    const holders = this.places.holders.map((place) => ({ ...place, owner: owner(place) }));
    const caption = draw(this.timeline, width, this.events, holders, this.now());
    this.timeline.setAttribute("aria-label", caption);
    setText(this.caption, caption);
  }

  drawEvents() {
    this.list.replaceChildren(...this.events.slice(-EVENTS).reverse().map((event) => {
      const why = event.reason ? `: ${clean(event.reason)}` : "";
      const item = make("li", "", make("time", "", clock(Date.parse(event.time))),
        make("span", `what ${event.event}`, event.event), foreign(event.owner), why);
      return item;
    }));
    setText(this.source, this.exact ? "From the history of the store."
      : "The store keeps no history, so events in between may be missing, and a loss looks like a " +
        "release. holdfast history --keep 1000 turns it on.");
  }

  drawCommands() {
    const name = (this.name.startsWith("-") ? "-- " : "") + quote(this.name);
    const store = `--url ${quote(this.store)}`; // the command may be typed anywhere
    const first = this.places.holders[0];
    const lines = [`holdfast show ${store} ${name}`, `holdfast watch ${store} ${name}`];
    if (first) lines.push(`holdfast ask ${store} ${name}`,
      `holdfast break ${store} --token ${first.token} ${name}`);
    const now = lines.join("\n");
    if (this.commands.dataset.now === now) return;
    this.commands.dataset.now = now;
    this.commands.replaceChildren(...lines.map((line) => {
      const code = make("code", "", clean(line));
      const copy = make("button", "small", "Copy");
      copy.type = "button";
      copy.setAttribute("aria-label", `Copy: ${clean(line)}`);
      copy.addEventListener("click", () => this.copy(line, code));
      return make("li", "", code, copy);
    }));
  }

  async copy(line, code) {
    try {
      await navigator.clipboard.writeText(line);
      this.showMessage("Copied.");
    } catch { // not allowed here: select it at least
      getSelection().selectAllChildren(code);
      this.showMessage("Selected: copy it with the keyboard.");
    }
  }

  /** Breaks the holder, or one that the user chooses; if there is none, the first waiter. */
  breakOne() {
    const { holders, waiters } = this.places;
    const places = holders.length ? holders : waiters.slice(0, 1);
    if (places.length) this.onBreak(this.name, places);
  }

  /** Every second. */
  tick() {
    if (this.name === null) return;
    const now = this.now();
    for (const time of this.queue.querySelectorAll(".time"))
      setText(time, age(now - Number(time.dataset.since)));
    for (const lease of this.queue.querySelectorAll(".lease")) {
      const bar = leaseBar(lease.dataset.kind, Number(lease.dataset.until) - now, this.table.leaseMs);
      setText(lease.lastChild, bar.text);
      lease.dataset.low = bar.low;
      lease.firstChild.firstChild.style.width = `${Math.round(bar.share * 100)}%`;
    }
    if (!this.drawn || now - this.drawn > 5000) {
      this.drawn = now;
      this.drawTimeline();
    }
  }
}
