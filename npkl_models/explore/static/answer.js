// An answer: its convergence while it runs, the certificate, the numbers and the pictures.

import { $, dark, element, narrow, number, row } from "/static/dom.js?token={{token}}";
import { ask } from "/static/net.js?token={{token}}";
import { chart } from "/static/charts.js?token={{token}}";
import { work } from "/static/jobs.js?token={{token}}";
import { keep } from "/static/link.js?token={{token}}";
import { select } from "/static/tabs.js?token={{token}}";
import { showNumbers } from "/static/formulas.js?token={{token}}";
import { mark } from "/static/form.js?token={{token}}";
import { showLesson } from "/static/failures.js?token={{token}}";
import { codes, relative, say, showCode, state } from "/static/state.js?token={{token}}";

let rows = [], begun = 0;

export function clear() {
  rows = [];
  state.answer = null;
  begun = performance.now();
  $("verdict").hidden = $("live").hidden = $("audit").hidden = true;
  showNumbers(null);
}

// No panel shows an answer: those that stood there are of another form.
export function forget() {
  clear();
  state.answered = null;
  for (const id of ["stale", "along", "walked", "raced", "checked"]) $(id).hidden = true;
  for (const id of ["figures", "winner"]) $(id).replaceChildren();
}

export function run() {
  clear();
  select("one");
  showLesson();
  keep();
  if (narrow.matches) $("status").scrollIntoView();
  return work("run", {}, "Solving", heard);
}

export function heard(event, key) {
  if (event.kind === "iterate") {
    rows.push(event);
    live();
    say(`${event.backend} is running, ${((performance.now() - begun) / 1000).toFixed(1)} s: iteration ${event.iteration}, objective ${number(event.objective, 8)}, bound ${number(event.bound, 8)}, rank ${event.rank}`);
  } else if (event.kind === "answer") show(event, key);
  else if (event.kind === "conditions" && !mark()) showNumbers(event.numbers, event.live ? `At iteration ${event.iteration}, with the slopes of the losses as y:` : "");
  else if (event.kind === "audit") showAudit(event);
  else if (event.kind === "clusters") Object.assign(state.answer, event) && facts();
}

export function live(history = null, bound = null) {
  const all = history ?? {
    seconds: rows.map((r) => r.seconds), objective: rows.map((r) => r.objective), bound: rows.map((r) => r.bound),
  };
  const bounds = [...all.bound, bound].filter((b) => b !== null && Number.isFinite(b));
  const objectives = all.objective.filter((f) => f !== null);
  $("live").hidden = !objectives.length;
  if (!objectives.length) return;
  const proved = bounds.length > 0;
  const best = proved ? Math.max(...bounds) : Math.min(...objectives);
  const last = objectives.at(-1) ?? 0;
  const middle = objectives[Math.floor(objectives.length / 4)] ?? last;
  const near = bounds.filter((b) => b > last - 3 * Math.max(Math.abs(middle - last), 0.05 * (1 + Math.abs(last))));
  chart($("live_objective"), [
    { x: all.seconds, y: all.objective, color: "var(--one)", name: "objective" },
    { x: all.seconds, y: all.bound, color: "var(--two)", name: "bound", marks: true, line: false },
  ], { x: "seconds", y: "objective, bound", range: [middle, last, ...near, ...objectives.slice(-3)] });
  chart($("live_gap"), [{
    x: all.seconds, y: all.objective.map((f) => (f === null ? null : Math.max(0, relative(f, best)))),
    color: "var(--one)",
  }], { x: "seconds", y: "relative distance", logY: true });
  $("gap_caption").textContent = proved ? "Distance of the objective to the best certified bound" : "Distance to the best objective so far (no bound yet)";
}

function differing(bound, objective) {
  const digits = [9, 12, 15].find((count) => bound.toPrecision(count) !== objective.toPrecision(count)) ?? 15;
  const [low, high] = [bound, objective].map((v) => v.toPrecision(digits));
  let k = 0;
  while (k < low.length && low[k] === high[k] && low.length === high.length) k += 1;
  return [low, high].map((text) => element("span", {}, element("span", { class: "same" }, text.slice(0, k)), element("span", { class: "differs" }, text.slice(k))));
}

function show(found, key) {
  state.answer = { ...found, key };
  codes.run = found.code;
  showCode("run");
  live(found.history, found.bound);
  say(`${found.backend}: ${found.status} after ${number(found.seconds, 3)} s and ${found.iterations} iterations.`);
  $("verdict").hidden = false;
  $("verdict_status").textContent = found.status;
  $("verdict_status").className = found.status === "OPTIMAL" ? "good" : "bad";
  $("verdict_advice").textContent = found.advice;
  $("message").textContent = found.message || "none";
  const point = found.objective !== undefined;
  for (const id of ["inequality", "bracket", "numbers", "figures"]) $(id).hidden = !point;
  if (!point) return;
  $("bracket").innerHTML = found.bracket;
  const met = Number.isFinite(found.upper), above = met ? found.upper : found.objective;
  const [low, high] = Number.isFinite(found.bound) ? differing(found.bound, above) : [number(found.bound, 9), number(above, 9)];
  const certified = ["proved", "probable"].includes(found.rigour);
  const missed = met || !found.missed ? "" : `; the kernel misses the constraint ${found.missed} by ${number(found.violation)} of its data`;
  $("inequality").replaceChildren(low, met ? " ≤ optimum ≤ " : " ≤ optimum; objective ", high, missed, certified ? "" : ` (the lower bound is not certified: ${found.rigour})`);
  facts();
  figures();
}

function facts() {
  const found = state.answer;
  const told = {
    objective: number(found.objective, 9), "relative gap": number(found.gap), rigour: found.rigour, "rank of K": found.rank, "trace of K": number(found.trace),
    backend: found.backend, "cluster sizes": found.sizes?.join(", ") ?? "…",
    "Rand index": found.sizes ? (found.accuracy === null ? "no classes" : number(found.accuracy, 4)) : "…",
  };
  $("numbers").replaceChildren(...Object.entries(told).map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, String(value)))));
}

function showAudit(found) {
  $("audit").hidden = false;
  $("audit_words").textContent = `${found.wrong} of ${found.pairs} pairs are wrong on purpose. Of the first ${found.wrong} pairs of the audit, ${found.found} are wrong.`;
  $("audit_table").replaceChildren(row("th", "pair", "kind", "value K_ij", "between neighbours", "score", "wrong on purpose"),
    ...found.rows.map((one) => row("td", one.pair, one.kind, number(one.value, 3), number(one.expected, 3), number(one.score, 3), one.wrong ? "yes" : "no")));
}

export function figures() {
  if (!state.answer?.key || state.answer.objective === undefined) return Promise.resolve();
  const first = state.choices.failures.find((one) => one.name === state.failure)?.figure;
  const names = Object.keys(state.choices.figures).sort((a, b) => (b === first) - (a === first));
  return draw($("figures"), state.answer.key, names);
}

// Figures of an answer, each replaced when its picture has come; an older request's picture is dropped.
export function draw(place, key, names, index = 0) {
  const round = (place.round = (place.round ?? 0) + 1);
  const old = [...place.children];
  const boxes = names.map((name, k) => old[k] ?? element("figure", {}, element("div"), element("figcaption")));
  place.replaceChildren(...boxes);
  return names.reduce((before, name, k) => before.then(async () => {
    if (place.round !== round) return;
    const box = boxes[k].firstElementChild;
    boxes[k].lastElementChild.textContent = state.choices.figures[name];
    boxes[k].classList.add("waiting");
    const how = { index, by: $("by").value, width: Math.round(Math.min(box.clientWidth || 320, 560)), dark: dark.matches ? 1 : 0 };
    try {
      const picture = await ask(`/api/jobs/${key}/figure/${name}`, undefined, how);
      if (place.round === round) {
        box.innerHTML = picture;
        boxes[k].classList.toggle("drawn_dark", how.dark === 1);
      }
    } catch (error) {
      if (place.round === round) box.replaceChildren(element("p", {}, `Not drawn: ${error.message}`));
    }
    boxes[k].classList.remove("waiting");
  }), Promise.resolve());
}
