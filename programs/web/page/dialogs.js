// dialogs.js - asks for a lock or breaks it, for a reason that the user types.
import { age, clean, clock, owner } from "./text.js";

/** Shows a dialog, and calls `act` with the typed values; the dialog stays open if that fails. */
function run(dialog, name, act) {
  const form = dialog.querySelector("form");
  const failure = dialog.querySelector(".error");
  dialog.querySelector(".name").textContent = clean(name);
  form.reset();
  failure.textContent = "";
  dialog.querySelector("[value=no]").onclick = () => dialog.close();
  form.onsubmit = async (event) => {
    event.preventDefault();
    failure.textContent = "";
    try {
      await act(Object.fromEntries(new FormData(form)));
      dialog.close();
    } catch (error) {
      failure.textContent = clean(error.message);
    }
  };
  dialog.showModal();
  return form;
}

export class Dialogs {
  constructor({ post, showMessage, now }) {
    Object.assign(this, { post, showMessage, now });
    this.askDialog = document.getElementById("ask-dialog");
    this.breakDialog = document.getElementById("break-dialog");
    this.helpDialog = document.getElementById("help-dialog");
  }

  isOpen() {
    return document.querySelector("dialog[open]") !== null;
  }

  help() {
    this.helpDialog.showModal();
  }

  ask(name) {
    run(this.askDialog, name, async ({ reason }) => {
      const { asked } = await this.post("/api/ask", { name, reason });
      this.showMessage(`Asked ${asked} holder${asked === 1 ? "" : "s"} of ${clean(name)}.`);
    }).reason.focus();
  }

  /** Breaks exactly this place.  The button is enabled once the name and a reason are typed. */
  break(name, place) {
    const dialog = this.breakDialog;
    const since = Date.parse(place.since);
    const set = (what, text) => { dialog.querySelector(`.${what}`).textContent = clean(text); };
    set("owner", owner(place));
    set("token", place.token);
    set("since", `${clock(since)}, ${age(this.now() - since)}`);
    set("command", place.command || "–");
    const form = run(dialog, name, async ({ typed, reason }) => {
      await this.post("/api/break", { name, token: place.token, typed, reason });
      this.showMessage(`Broken: ${clean(name)}, token ${place.token}.`);
    });
    const button = form.querySelector("[type=submit]");
    form.oninput = () => {
      button.disabled = form.typed.value !== name || !form.reason.value.trim();
    };
    button.disabled = true;
    form.typed.focus();
  }
}
