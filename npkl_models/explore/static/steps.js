// One solver step by step: forward and back by buttons and arrow keys.

import { $, number } from "/static/dom.js?token={{token}}";
import { chart } from "/static/charts.js?token={{token}}";
import { work } from "/static/jobs.js?token={{token}}";
import { keep } from "/static/link.js?token={{token}}";
import { bars, points } from "/static/picture.js?token={{token}}";
import { select, whenShown } from "/static/tabs.js?token={{token}}";
import { codes, relative, say, showCode } from "/static/state.js?token={{token}}";

let found = null, at = 0;

export function walk() {
  select("steps");
  keep();
  found = null;
  $("walked").hidden = true;
  return work("step", {}, "Solving, each iterate is kept", heard);
}

export function heard(event) {
  if (event.kind === "iterate") say(`${event.backend} is running: iteration ${event.iteration}, objective ${number(event.objective, 8)}`);
  if (event.kind === "progress") say(event.text);
  if (event.kind !== "steps") return;
  found = event;
  codes.steps = event.code;
  showCode("steps");
  $("walked").hidden = false;
  $("step_drag").max = event.iteration.length - 1;
  say(`${event.backend}: ${event.status}. ${event.seen} iterates were kept, ${event.iteration.length} steps are shown.`);
  go(0);
  $("step_next").focus();
}

export function go(to) {
  if (!found) return;
  at = Math.max(0, Math.min(found.iteration.length - 1, to));
  $("step_drag").value = at;
  show();
}

function words() {
  const last = at === found.iteration.length - 1, low = found.min_eigenvalue[at];
  const gap = relative(found.objective[at], found.best[at] ?? -Infinity);
  const head = `Step ${at + 1} of ${found.iteration.length}${last ? ", the answer" : ""}: iteration ${found.iteration[at]}, objective ${number(found.objective[at], 8)}, best bound so far ${number(found.best[at], 8)}, rank ${found.rank[at]} in ${found.columns[at]} columns, smallest eigenvalue of the slack ${number(low, 4)}.`;
  if (gap < 1e-5) return `${head} The bound meets the objective: the kernel is optimal.`;
  if (low < 0) return `${head} The slack is not positive semidefinite: its eigenvector says where the kernel can still gain.`;
  return `${head} The slack is positive semidefinite; the gap is left by tr(SK) or by the losses.`;
}

function show() {
  if (!found) return;
  const k = found.iteration.map((_, index) => index + 1), here = at + 1;
  $("step_words").textContent = words();
  $("step_drag").setAttribute("aria-valuetext", `step ${here}`);
  $("step_first").disabled = $("step_back").disabled = at === 0;
  $("step_next").disabled = $("step_last").disabled = at === found.iteration.length - 1;
  const objectives = found.objective.slice(Math.min(2, found.objective.length - 1));
  chart($("step_objective"), [
    { x: k, y: found.objective, color: "var(--one)", name: "objective", marks: true }, { x: k, y: found.best, color: "var(--two)", name: "best bound" },
  ], { x: "step", y: "objective, bound", here, height: 190, range: [...objectives, ...found.best.filter((b) => b !== null)] });
  chart($("step_low"), [{ x: k, y: found.min_eigenvalue, color: "var(--three)", marks: true }], { x: "step", y: "low eigenvalue", here, height: 190 });
  chart($("step_rank"), [{ x: k, y: found.columns, color: "var(--four)", name: "columns" }, { x: k, y: found.rank, color: "var(--one)", name: "rank", marks: true }],
    { x: "step", y: "rank", here, height: 190, zero: true, whole: true });
  points($("step_points"), found.places[at], found.direction[at], found.labels, found.anchors);
  bars($("step_bars"), found.direction[at], found.labels);
}

export function stepKeys(event) {
  if ($("steps").hidden || !found || event.target.closest?.("form, [role=tablist], input")) return;
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  go(at + step);
}

export function listenSteps() {
  const moves = { step_first: () => 0, step_back: () => at - 1, step_next: () => at + 1, step_last: () => found.iteration.length - 1 };
  for (const [id, to] of Object.entries(moves)) $(id).addEventListener("click", () => found && go(to()));
  $("step_drag").addEventListener("input", () => go(Number($("step_drag").value)));
  $("walk").addEventListener("click", walk);
}

whenShown("steps", show);
