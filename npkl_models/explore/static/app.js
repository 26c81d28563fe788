// The page begins: choices, form, listeners; then the first answer, or what this tab had on its screen.

import { $, dark } from "/static/dom.js?token={{token}}";
import { ask } from "/static/net.js?token={{token}}";
import { clear, figures, heard as heardRun, live, run } from "/static/answer.js?token={{token}}";
import { buildBackends, compare, copyCode, heard as heardTable } from "/static/compare.js?token={{token}}";
import { buildFailures, listenLesson, showLesson } from "/static/failures.js?token={{token}}";
import { UPLOADS, build, changed, describe, relevant, upload } from "/static/form.js?token={{token}}";
import { before, follow, stop, watchServer } from "/static/jobs.js?token={{token}}";
import { listenLecture } from "/static/lecture.js?token={{token}}";
import { keep, restore, share } from "/static/link.js?token={{token}}";
import { followPath, forget, heard as heardPath, stand } from "/static/path.js?token={{token}}";
import { heard as heardRace, race, replay } from "/static/race.js?token={{token}}";
import { heard as heardSteps, listenSteps, stepKeys } from "/static/steps.js?token={{token}}";
import { complain, say, showCode, state } from "/static/state.js?token={{token}}";
import { listenKeys, redraw, select, whenShown } from "/static/tabs.js?token={{token}}";

const HEARD = { run: heardRun, path: heardPath, compare: heardTable, step: heardSteps, race: heardRace };
const ENTER = { low: followPath, high: followPath, count: followPath, first: race, second: race };

function keys(event) {
  if (event.key === "Escape" && (state.running || state.other)) stop();
  if (event.key === "Enter" && ENTER[event.target.id]) ENTER[event.target.id]();
  stepKeys(event);
}

function listen() {
  $("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
  $("form").addEventListener("input", (event) => { if (event.target.type !== "file") changed(); });
  for (const name of UPLOADS) $(`${name}_upload`).addEventListener("change", () => upload(name));
  const clicks = { stop, follow: followPath, check: compare, start_race: race, replay, copy: copyCode, share };
  for (const [id, action] of Object.entries(clicks)) $(id).addEventListener("click", () => action());
  $("which").addEventListener("change", () => showCode());
  $("drag").addEventListener("input", stand);
  $("by").addEventListener("change", figures);
  for (const id of ["low", "high", "count", "first", "second"]) $(id).addEventListener("change", keep);
  addEventListener("resize", redraw);
  addEventListener("hashchange", () => { opened(restore()); });
  dark.addEventListener("change", () => { forget(); redraw(); figures(); });
  listenSteps();
  listenLesson();
  listenLecture();
  listenKeys(keep, keys);
}

// A state from a link that is opened in a page that is open already.
function opened({ tab }) {
  relevant();
  describe();
  if (!state.running) run().then(() => select(tab));
}

// The first answer: of this tab before it was loaded again, of the server's first run, or of an own run.
async function first(beside) {
  const found = await before();
  if (found && HEARD[found.action]) {
    if (found.action === "run") clear();
    showLesson();
    say(found.ended ? "The last answer is shown again." : `The ${found.kind} that was begun before goes on.`);
    if (await follow(found.key, HEARD[found.action])) return;
  }
  if (state.other) { say("Another tab is running. Press Run when it has ended."); return; }
  const opening = state.choices.opening;
  if (!beside.given && opening) {
    clear();
    say("The first problem is being solved …");
    const known = await ask(`/api/jobs/${opening}`).catch(() => null);
    complain(null);
    if (known && await follow(opening, heardRun) && state.answer) return;
    complain(null);
  }
  if ($("data").value === "(a file of my own)") { say("Ready: press Run."); return; }
  await run();
}

async function begin() {
  const choices = (state.choices = await ask("/api/choices"));
  $("version").textContent = `npkl_models ${choices.version}, on this machine alone`;
  build(choices.fields);
  buildBackends();
  buildFailures();
  whenShown("one", () => live(state.answer && !state.running ? state.answer.history : null, state.running ? null : state.answer?.bound ?? null));
  const beside = restore();
  listen();
  relevant();
  select(beside.tab);
  await watchServer();
  const shown = first(beside); // before the words of the problem, which are not waited for
  await describe();
  await shown;
  select(beside.tab);
}

begin().catch(complain);
