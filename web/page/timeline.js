// timeline.js - who held a lock in the last quarter of an hour, as bars.
//
// A bar for each holder, from grant to release; a red edge if it was lost or broken.  Bars
// that overlap, of readers and semaphores, stand in lanes below each other.
import { age, clean, clock } from "./text.js";

const SPAN = 15 * 60000;
const LANE = 18;
const LANES = 12;
const AXIS = 20;
const BLUR = 2500; // what is told by looking is told late: such an overlap is none
const ENDS = new Set(["released", "lost", "broken"]);

function svg(tag, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** One stint for each token: {owner, command, from, to, end}. */
export function stints(events, holders, now) {
  const all = new Map();
  for (const event of events) {
    const time = Date.parse(event.time);
    if (event.event === "granted") {
      all.set(event.token, { token: event.token, owner: event.owner, command: event.command,
        from: time, to: now, end: "" });
    } else if (ENDS.has(event.event)) {
      const stint = all.get(event.token) || { token: event.token, owner: event.owner,
        command: event.command, from: -Infinity, to: time, end: "" };
      if (stint.end && event.event === "released") continue; // told twice: the first knew why
      stint.to = stint.end ? Math.min(stint.to, time) : time;
      stint.end = event.event;
      stint.reason = event.reason;
      all.set(event.token, stint);
    }
  }
  for (const place of holders) {
    all.set(place.token, { token: place.token, owner: place.owner, command: place.command,
      from: Date.parse(place.since), to: now, end: "" });
  }
  for (const stint of all.values()) {
    if (!stint.end && !holders.some((place) => place.token === stint.token)) stint.end = "unknown";
  }
  return [...all.values()].filter((stint) => stint.to >= now - SPAN && stint.end !== "unknown")
    .sort((a, b) => a.from - b.from);
}

/** The first lane that is free; what has no room is counted. */
function intoLanes(list) {
  const until = [];
  let dropped = 0;
  for (const stint of list) {
    let lane = until.findIndex((time) => time <= stint.from + BLUR);
    if (lane < 0) lane = until.length;
    if (lane >= LANES) {
      dropped++;
      stint.lane = -1;
      continue;
    }
    until[lane] = stint.to;
    stint.lane = lane;
  }
  return { lanes: Math.max(1, until.length), dropped };
}

function tell(stint, now) {
  const from = stint.from > 0 ? clock(stint.from) : "before";
  const how = stint.end ? `${stint.end} ${clock(stint.to)}` : "holds it";
  const long = stint.from > 0 ? `, ${age((stint.end ? stint.to : now) - stint.from)}` : "";
  const why = stint.reason ? `: ${clean(stint.reason)}` : "";
  return `${clean(stint.owner)}  ${from} – ${how}${long}${why}\n${clean(stint.command)}\ntoken ${stint.token}`;
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

/** "ana@db2:4242", or "db2:4242", or "db2"; "" if not even that has room. */
function fit(owner, room) {
  const place = owner.slice(owner.indexOf("@") + 1);
  return [owner, place, place.replace(/:\d+$/, "")].find((text) => text.length <= room) || "";
}

function drawBar(root, stint, index, scale, now) {
  const x = Math.max(0, scale(stint.from));
  const end = scale(stint.to);
  const width = Math.max(1.5, end - x - 1);
  const y = stint.lane * LANE + 2;
  const bad = stint.end === "lost" || stint.end === "broken";
  const group = svg("g", { class: `stint${stint.end ? "" : " now"}${bad ? " bad" : ""}${index % 2 ? " odd" : ""}` });
  const title = svg("title");
  title.textContent = tell(stint, now);
  group.append(title, svg("rect", { x, y, width, height: LANE - 4, rx: 2 }));
  if (bad) group.append(svg("rect", { x: Math.max(x, end - 3), y: y - 1, width: 3, height: LANE - 2, class: "edge" }));
  const label = fit(clean(stint.owner), Math.floor((width - 8) / 6.4));
  if (label) {
    const text = svg("text", { x: x + 5, y: y + LANE - 8, class: "who" });
    text.textContent = label;
    group.append(text);
  }
  root.append(group);
}

/** Draws into an SVG element; returns a sentence about it. */
export function draw(root, width, events, holders, now) {
  const list = stints(events, holders, now);
  const { lanes, dropped } = intoLanes(list);
  const height = lanes * LANE + AXIS + 2;
  const scale = (time) => width - ((now - time) / SPAN) * width;
  root.replaceChildren();
  root.setAttribute("width", width);
  root.setAttribute("height", height);
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  drawAxis(root, width, height, now);
  list.forEach((stint, index) => { if (stint.lane >= 0) drawBar(root, stint, index, scale, now); });
  for (const event of events) {
    const time = Date.parse(event.time);
    if (event.event !== "asked" || time < now - SPAN) continue;
    const mark = svg("path", { d: `M${scale(time) - 4} 0h8l-4 6z`, class: "asked" });
    const title = svg("title");
    title.textContent = `asked ${clock(time)}${event.reason ? `: ${clean(event.reason)}` : ""}`;
    mark.append(title);
    root.append(mark);
  }
  const bad = list.filter((stint) => stint.end === "lost" || stint.end === "broken").length;
  const one = list.length === 1;
  return `${list.length} holder${one ? "" : "s"} in the last 15 minutes` +
    (bad ? `, ${bad} of them lost it or had it broken` : "") + (dropped ? `; ${dropped} not drawn` : "");
}
