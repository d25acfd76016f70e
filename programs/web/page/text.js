// text.js - texts, times, and elements made from them.  No text is ever parsed as HTML.

// The same as text_is_hidden() in programs/view/text_shown.c.
const HIDDEN = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160" +
  "\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff" +
  "\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]", "gu");

function escaped(character) {
  const short = { "\n": "\\n", "\t": "\\t", "\r": "\\r" }[character];
  if (short) return short;
  const code = character.codePointAt(0);
  return code > 0xffff ? "\\U" + code.toString(16).padStart(8, "0")
    : "\\u" + code.toString(16).padStart(4, "0");
}

/** Other people's text, safe to show. */
export function clean(text) {
  return String(text).replace(HIDDEN, escaped);
}

/** Quoted for a shell. */
export function quote(text) {
  if (/^[A-Za-z0-9_.:/@%+=,-]+$/.test(text)) return text;
  if (text.search(HIDDEN) < 0) return `'${text.replaceAll("'", "'\\''")}'`;
  return "$'" + clean(text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")) + "'";
}

/** "3s", "12m03s", "2h05m", "3d04h", as the command prints it. */
export function age(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h${two(Math.floor(s / 60) % 60)}m`;
  return `${Math.floor(s / 86400)}d${two(Math.floor(s / 3600) % 24)}h`;
}

/** Microseconds, in two or three digits. */
export function shortTime(us) {
  if (us === null || us === undefined) return "–";
  if (us < 1000) return `${us} µs`;
  const ms = us / 1000;
  return ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${Math.round(ms)} ms`
    : `${(ms / 1000).toFixed(1)} s`;
}

/** 14:03:07 */
export function clock(ms) {
  return new Date(ms).toLocaleTimeString("en-GB");
}

export function number(n) {
  return n === null || n === undefined ? "–" : n.toLocaleString("en-US");
}

export function owner(place) {
  if (!place.pid && !place.command && place.note) return "–";
  return `${place.user || "?"}@${place.host || "?"}:${place.pid}`;
}

/** An element with a class and, inside, texts and elements. */
export function make(tag, className, ...inside) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...inside);
  return element;
}

/** Other people's text, isolated from the text around it, with a tooltip if it is long. */
export function foreign(text, className) {
  const shown = clean(text);
  const element = make("bdi", className, shown);
  if (shown.length > 24) element.title = shown;
  return element;
}

/** Changes the page only if the text differs. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
