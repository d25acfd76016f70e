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

  /** The keys that do something here. */
  help(allow) {
    for (const row of this.helpDialog.querySelectorAll("[data-needs]")) row.hidden = !allow[row.dataset.needs];
    this.helpDialog.showModal();
  }

  ask(name) {
    run(this.askDialog, name, async ({ reason }) => {
      const { asked } = await this.post("/api/ask", { name, reason });
      this.showMessage(`Asked ${asked} holder${asked === 1 ? "" : "s"} of ${clean(name)}.`);
    }).reason.focus();
  }

  /** Breaks one of these places, exactly: of several the user has to choose.  The button is enabled once
   *  that is done, and the name and a reason are typed. */
  break(name, places) {
    const dialog = this.breakDialog;
    const chosen = () => places.find((place) => place.token === form.token.value);
    const set = (what, text) => { dialog.querySelector(`.${what}`).textContent = clean(text); };
    dialog.querySelector("select").replaceChildren(
      ...(places.length > 1 ? [new Option(`choose one of ${places.length}`, "")] : []),
      ...places.map((place) => new Option(clean(describe(place)), place.token)));
    dialog.querySelector(".which").hidden = places.length === 1;
    const form = run(dialog, name, async ({ typed, reason, token }) => {
      await this.post("/api/break", { name, token, typed, reason });
      this.showMessage(`Broken: ${clean(name)}, token ${token}.`);
    });
    const button = form.querySelector("[type=submit]");
    const draw = () => {
      const place = chosen();
      const since = place ? Date.parse(place.since) : 0;
      set("owner", place ? owner(place) : "–");
      set("token", place ? place.token : "–");
      set("since", place ? `${clock(since)}, ${age(this.now() - since)}` : "–");
      set("command", place?.command || "–");
      button.disabled = !place || form.typed.value !== name || !form.reason.value.trim();
    };
    form.oninput = form.onchange = draw;
    draw();
    (places.length > 1 ? form.token : form.typed).focus();
  }
}

function describe(place) {
  const slot = place.slot === null ? "" : `slot ${place.slot}, `;
  return `${owner(place)}, ${slot}${place.note || place.command || `token ${place.token}`}`;
}
