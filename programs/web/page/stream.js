// stream.js - server-sent events.  EventSource would do, but cannot send our header.

export class Stream {
  /** `handlers` has a function for each kind of event; `onEnd` is called once, unless we closed it. */
  constructor(path, token, handlers, onEnd) {
    this.handlers = handlers;
    this.abort = new AbortController();
    this.read(path, token).catch(() => {}).finally(() => {
      if (!this.abort.signal.aborted) onEnd();
    });
  }

  close() {
    this.abort.abort();
  }

  async read(path, token) {
    const headers = { Authorization: `Bearer ${token}` };
    if (Stream.last) headers["Last-Event-ID"] = Stream.last;
    const answer = await fetch(path, { headers, cache: "no-store", credentials: "omit",
      signal: this.abort.signal });
    if (!answer.ok) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) this.take(event);
    }
  }

  take(text) {
    const fields = {};
    for (const line of text.split("\n")) {
      const colon = line.indexOf(": ");
      fields[line.slice(0, colon)] = line.slice(colon + 2);
    }
    if (fields.id) Stream.last = fields.id;
    this.handlers[fields.event]?.({ data: fields.data, id: fields.id ?? "" });
  }
}

Stream.last = ""; // the last event: a page that reconnects gets what it missed
