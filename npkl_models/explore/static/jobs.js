// Jobs of the server: begun by this tab, found again after a reload, or of another tab.

import { $ } from "/static/dom.js?token={{token}}";
import { ask, listen, onServer } from "/static/net.js?token={{token}}";
import { complain, say, state } from "/static/state.js?token={{token}}";
import { form } from "/static/form.js?token={{token}}";
import { forget } from "/static/answer.js?token={{token}}";
import { fragment } from "/static/link.js?token={{token}}";

const POLL = 3000; // milliseconds
const BUTTONS = ["run", "follow", "check", "walk", "start_race"];
const kept = (() => { try { return sessionStorage; } catch { return null; } })();
const owner = kept?.getItem("npkl tab") ?? Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");
kept?.setItem("npkl tab", owner);

export function busy(on) {
  state.running = on;
  for (const id of BUTTONS) $(id).disabled = on;
  for (const button of document.querySelectorAll(".failure button")) button.disabled = on;
  $("stop").disabled = !on && !state.other;
}

// Begins a job and hears it to its end.
export async function work(action, body, words, heard) {
  if (state.running) return false;
  busy(true);
  complain(null);
  say(`${words} …`);
  const asked = JSON.stringify(form());
  if (asked !== state.answered) forget();
  try {
    const { key } = await ask(`/api/${action}`, { form: form(), owner, ...body });
    kept?.setItem("npkl job", JSON.stringify({ key, action, fragment: fragment() }));
    return await follow(key, heard, asked);
  } catch (error) {
    const refused = error.message.startsWith("one thing at a time");
    complain(refused ? new Error(`Another tab is running. The server said: ${error.message}. Wait for its end, or press Stop.`) : error);
    say("No answer.");
    $("error").scrollIntoView({ block: "nearest" });
    busy(false);
    if (refused) await look();
    return false;
  }
}

// Hears a job that runs or has ended; asked is its form in text.
export async function follow(key, heard, asked = JSON.stringify(form())) {
  busy(true);
  Object.assign(state, { key, answered: asked });
  let failed = false;
  try {
    await listen(key, (event) => {
      if (event.kind === "error") { failed = true; complain(new Error(event.text)); say("No answer."); }
      else if (event.kind === "stopped") { failed = true; say(event.text); }
      else heard(event, key);
    });
  } catch (error) {
    failed = true;
    complain(error);
    say("No answer.");
  }
  busy(false);
  if (failed) $("error").scrollIntoView({ block: "nearest" });
  return !failed;
}

// The job that this tab had begun before it was loaded again, if the server still knows it.
export async function before() {
  const found = JSON.parse(kept?.getItem("npkl job") ?? "null");
  if (!found || found.fragment !== fragment()) return null;
  try {
    return { ...(await ask(`/api/jobs/${found.key}`)), ...found };
  } catch {
    complain(null);
    return null;
  }
}

export async function stop() {
  try {
    const { stopping } = await ask("/api/stop", {}, { key: state.running ? state.key ?? "" : state.other ?? "" });
    if (stopping) say("Stopping after this iteration …");
  } catch (error) { complain(error); }
}

// What runs elsewhere; a server that does not answer is told by `ask`.
async function look() {
  let found;
  try { found = await ask("/api/state"); } catch { return; }
  state.other = found.key && !(state.running && found.key === state.key) && found.owner !== owner ? found.key : null;
  $("other").hidden = !state.other;
  $("other").textContent = state.other ? `Another tab is running a ${found.running}. This tab can run when it has ended; Stop ends it.` : "";
  if (!state.running) $("stop").disabled = !state.other;
}

export function watchServer() {
  onServer((how) => {
    $("gone").hidden = false;
    $("gone_words").textContent = how === "stopped"
      ? "The server has stopped. This page shows its last answers, and can compute no more. Start the server again in a terminal:"
      : "Another server has this page's port, and does not know this page. Open the address that it has printed, or start a new one:";
    $("gone_command").textContent = `npkl explore --open '${fragment()}'`;
  }, () => { $("gone").hidden = true; });
  setInterval(() => { if (!document.hidden) look(); }, POLL);
  return look();
}
