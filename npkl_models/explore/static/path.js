// The path of gamma: certified kernels, and what they prove of every weight between.

import { $, element, number } from "/static/dom.js?token={{token}}";
import { chart } from "/static/charts.js?token={{token}}";
import { draw } from "/static/answer.js?token={{token}}";
import { work } from "/static/jobs.js?token={{token}}";
import { keep } from "/static/link.js?token={{token}}";
import { select, whenShown } from "/static/tabs.js?token={{token}}";
import { codes, say, showCode } from "/static/state.js?token={{token}}";

let found = null, drawn = null, waiting = 0;

export function followPath() {
  select("path");
  keep();
  found = null;
  $("along").hidden = true;
  return work("path", { low: $("low").value, high: $("high").value, count: $("count").value }, "Following γ", heard);
}

export function heard(event, key) {
  if (event.kind === "iterate") say(`${event.backend} follows γ: iteration ${event.iteration}, objective ${number(event.objective, 8)}`);
  if (event.kind !== "path") return;
  found = { ...event, key };
  drawn = null;
  codes.path = event.code;
  showCode("path");
  $("along").hidden = false;
  $("drag").max = event.between.gamma.length - 1;
  const own = Math.log(Number($("gamma").value) || 1);
  const away = event.between.gamma.map((g) => Math.abs(Math.log(g) - own));
  $("drag").value = away.indexOf(Math.min(...away));
  const total = event.iterations.reduce((a, b) => a + b, 0);
  const wide = Number.isFinite(event.between.worst) ? `Between them a stored kernel is proved to be within a relative gap of ${number(event.between.worst, 3)} at every γ.` : "Between them nothing is proved where a bound or a feasible kernel is missing.";
  say(`${event.gamma.length} problems by ${event.backend}: ${total} iterations in all, largest relative gap ${number(Math.max(...event.gap))}. ${wide}`);
  stand();
}

function words(k) {
  const { between: b } = found, best = b.best[k], stored = found.gamma[best], at = b.gamma[k];
  const accuracy = found.accuracy[best];
  const own = Math.abs(at - stored) < 1e-9 * at;
  const kernel = own ? "the stored kernel" : `the stored kernel of γ = ${number(stored, 4)}`;
  const facts = `rank ${found.rank[best]}${accuracy === null ? "" : `, Rand index ${number(accuracy, 4)}`}`;
  return `γ = ${number(at, 4)}: ${kernel} has the objective ${number(b.upper[k], 7)}; the optimum is at least ${number(b.lower[k], 7)}; proved relative gap ${number(b.gap[k])}; ${facts}`;
}

export function stand() {
  if (!found) return;
  const k = Number($("drag").value), { between: b } = found, best = b.best[k], at = b.gamma[k];
  $("drag").setAttribute("aria-valuetext", `gamma ${number(at, 3)}`);
  $("here").textContent = words(k);
  $("path_bracket").innerHTML = found.bracket[best];
  $("bracket_of").textContent = `The certificate of the stored kernel at its own γ = ${number(found.gamma[best], 4)}`;
  const curves = [
    ["optimum", [
      { x: b.gamma, y: b.upper, color: "var(--one)", name: "tangents above" }, { x: b.gamma, y: b.lower, color: "var(--two)", name: "chords below" },
      { x: found.gamma, y: found.objective, color: "var(--one)", marks: true, line: false },
    ], {}],
    ["relative gap", [
      { x: b.gamma, y: b.gap, color: "var(--two)", name: "between" }, { x: found.gamma, y: found.gap, color: "var(--one)", marks: true, line: false, name: "stored" },
    ], { logY: true }],
    ["rank of K", [{ x: found.gamma, y: found.rank, color: "var(--three)", marks: true }], { zero: true, whole: true }],
    ["Rand index", [{ x: found.gamma, y: found.accuracy, color: "var(--four)", marks: true }], {}],
  ].filter(([, series]) => series[0].y.some((v) => v !== null));
  const place = $("path_charts");
  while (place.children.length < curves.length) place.append(element("div", { class: "chart" }));
  while (place.children.length > curves.length) place.lastChild.remove();
  curves.forEach(([name, series, how], c) => chart(place.children[c], series, { x: "γ", y: name, logX: true, here: at, height: 190, ...how }));
  if (drawn === best) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => { drawn = best; draw($("path_figures"), found.key, ["embedding", "kernel"], best); }, 80);
}

export function forget() { drawn = null; }

whenShown("path", stand);
