// timeline.js - the holders of a lock in the last 15 minutes, as bars.
//
// Each holder has a bar from grant to release, with a red edge if the lock was lost or broken.
// Bars that overlap, of readers and semaphores, are drawn in lanes below each other.
import { age, clean, clock } from "./text.js";

const SPAN = 15 * 60000;
const LANE = 18;
const LANES = 12;
const AXIS = 20;
const BLUR = 2500; // without a history, events are seen late: ignore short overlaps
const ENDS = new Set(["released", "lost", "broken"]);

function svg(tag, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** The period of each token: {owner, command, from, to, end}. */
export function periods(events, holders, now) {
  const all = new Map();
  for (const event of events) {
    const time = Date.parse(event.time);
    if (event.event === "granted") {
      all.set(event.token, { token: event.token, owner: event.owner, command: event.command,
        from: time, to: now, end: "" });
    } else if (ENDS.has(event.event)) {
      const period = all.get(event.token) || { token: event.token, owner: event.owner,
        command: event.command, from: -Infinity, to: time, end: "" };
      if (period.end && event.event === "released") continue; // reported twice: the first one knows the reason
      period.to = period.end ? Math.min(period.to, time) : time;
      period.end = event.event;
      period.reason = event.reason;
      all.set(event.token, period);
    }
  }
  for (const place of holders) {
    all.set(place.token, { token: place.token, owner: place.owner, command: place.command,
      from: Date.parse(place.since), to: now, end: "" });
  }
  for (const period of all.values()) {
    if (!period.end && !holders.some((place) => place.token === period.token)) period.end = "unknown";
  }
  return [...all.values()].filter((period) => period.to >= now - SPAN && period.end !== "unknown")
    .sort((a, b) => a.from - b.from);
}

/** Puts each period into the first free lane; counts those without room. */
function intoLanes(list) {
  const until = [];
  let dropped = 0;
  for (const period of list) {
    let lane = until.findIndex((time) => time <= period.from + BLUR);
    if (lane < 0) lane = until.length;
    if (lane >= LANES) {
      dropped++;
      period.lane = -1;
      continue;
    }
    until[lane] = period.to;
    period.lane = lane;
  }
  return { lanes: Math.max(1, until.length), dropped };
}

function describe(period, now) {
  const from = period.from > 0 ? clock(period.from) : "before";
  const how = period.end ? `${period.end} ${clock(period.to)}` : "holds it";
  const long = period.from > 0 ? `, ${age((period.end ? period.to : now) - period.from)}` : "";
  const why = period.reason ? `: ${clean(period.reason)}` : "";
  return `${clean(period.owner)}  ${from} – ${how}${long}${why}\n${clean(period.command)}\ntoken ${period.token}`;
}

function drawAxis(root, width, height, now) {
  const minute = 60000;
  const step = width < 420 ? 5 : 3;
  for (let ago = 0; ago <= 15; ago += step) {
    const x = width - (ago * minute / SPAN) * width;
    root.append(svg("line", { x1: x, x2: x, y1: 0, y2: height - AXIS + 4, class: "tick" }));
    const label = svg("text", { x, y: height - 4, class: "axis",
      "text-anchor": ago === 0 ? "end" : ago === 15 ? "start" : "middle" });
    label.textContent = ago === 0 ? "now" : new Date(now - ago * minute).toLocaleTimeString("en-GB",
      { hour: "2-digit", minute: "2-digit" });
    root.append(label);
  }
}

/** "ana@db2:4242", or "db2:4242", or "db2"; "" if not even that fits. */
function fit(owner, room) {
  const place = owner.slice(owner.indexOf("@") + 1);
  return [owner, place, place.replace(/:\d+$/, "")].find((text) => text.length <= room) || "";
}

function drawBar(root, period, index, scale, now) {
  const x = Math.max(0, scale(period.from));
  const end = scale(period.to);
  const width = Math.max(1.5, end - x - 1);
  const y = period.lane * LANE + 2;
  const bad = period.end === "lost" || period.end === "broken";
  const group = svg("g", { class: `period${period.end ? "" : " now"}${bad ? " bad" : ""}${index % 2 ? " odd" : ""}` });
  const title = svg("title");
  title.textContent = describe(period, now);
  group.append(title, svg("rect", { x, y, width, height: LANE - 4, rx: 2 }));
  if (bad) group.append(svg("rect", { x: Math.max(x, end - 3), y: y - 1, width: 3, height: LANE - 2, class: "edge" }));
  const label = fit(clean(period.owner), Math.floor((width - 8) / 6.4));
  if (label) {
    const text = svg("text", { x: x + 5, y: y + LANE - 8, class: "who" });
    text.textContent = label;
    group.append(text);
  }
  root.append(group);
}

/** Draws into an SVG element; returns a caption. */
export function draw(root, width, events, holders, now) {
  const list = periods(events, holders, now);
  const { lanes, dropped } = intoLanes(list);
  const height = lanes * LANE + AXIS + 2;
  const scale = (time) => width - ((now - time) / SPAN) * width;
  root.replaceChildren();
  root.setAttribute("width", width);
  root.setAttribute("height", height);
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  drawAxis(root, width, height, now);
  list.forEach((period, index) => { if (period.lane >= 0) drawBar(root, period, index, scale, now); });
  for (const event of events) {
    const time = Date.parse(event.time);
    if (event.event !== "asked" || time < now - SPAN) continue;
    const mark = svg("path", { d: `M${scale(time) - 4} 0h8l-4 6z`, class: "asked" });
    const title = svg("title");
    title.textContent = `asked ${clock(time)}${event.reason ? `: ${clean(event.reason)}` : ""}`;
    mark.append(title);
    root.append(mark);
  }
  const bad = list.filter((period) => period.end === "lost" || period.end === "broken").length;
  const one = list.length === 1;
  return `${list.length} holder${one ? "" : "s"} in the last 15 minutes` +
    (bad ? `, ${bad} of them lost it or had it broken` : "") + (dropped ? `; ${dropped} not drawn` : "");
}
