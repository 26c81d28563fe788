// Two backends on one problem, one after the other, in the same axes.

import { $, number } from "/static/dom.js?token={{token}}";
import { chart } from "/static/charts.js?token={{token}}";
import { work } from "/static/jobs.js?token={{token}}";
import { keep } from "/static/link.js?token={{token}}";
import { select, whenShown } from "/static/tabs.js?token={{token}}";
import { codes, relative, say, showCode } from "/static/state.js?token={{token}}";

const COLORS = ["var(--one)", "var(--two)"];
const REPLAY = 6000; // milliseconds
let lanes = [], until = Infinity, replaying = 0;

export function race() {
  select("race");
  keep();
  lanes = [];
  until = Infinity;
  cancelAnimationFrame(replaying);
  $("raced").hidden = true;
  $("winner").textContent = "";
  $("replay").disabled = true;
  return work("race", { backends: [$("first").value, $("second").value] }, "The first backend runs", heard);
}

export function heard(event) {
  if (event.kind === "progress") { say(event.text); lanes.push({ name: event.text.split(" ")[0], seconds: [], objective: [], bound: [] }); }
  if (event.kind === "lap") {
    const lane = lanes.find((one) => one.name === event.name);
    for (const name of ["seconds", "objective", "bound"]) lane[name].push(event[name]);
    say(`${event.name} is running: ${number(event.seconds, 3)} s of the processor, iteration ${event.iteration}, objective ${number(event.objective, 8)}`);
    show();
  }
  if (event.kind !== "race") return;
  lanes = event.lanes;
  codes.race = event.code;
  showCode("race");
  $("winner").textContent = event.words;
  $("laps").textContent = lanes.map((one) => `${one.name}: ${one.status}, ${one.iterations} iterations, ${number(one.total, 3)} s of the processor, relative gap ${number(one.gap)}.`).join(" ");
  say(event.words);
  $("replay").disabled = false;
  show();
}

function cut(lane) {
  const k = lane.seconds.map((_, index) => index).filter((index) => lane.seconds[index] <= until);
  return Object.fromEntries(["seconds", "objective", "bound"].map((name) => [name, k.map((index) => lane[name][index])]));
}

function show() {
  if (!lanes.length) return;
  $("raced").hidden = false;
  const bounds = lanes.flatMap((one) => one.bound).filter((b) => b !== null && Number.isFinite(b));
  const ends = lanes.flatMap((one) => one.objective.slice(-3)).filter((f) => f !== null);
  const best = bounds.length ? Math.max(...bounds) : Math.min(...ends);
  const parts = lanes.map(cut), last = Math.max(...lanes.flatMap((one) => one.seconds));
  const quarter = lanes.map((one) => one.objective[Math.floor(one.objective.length / 4)]).filter(Number.isFinite);
  const range = [...quarter, ...ends, best];
  chart($("race_objective"), parts.flatMap((one, k) => [
    { x: one.seconds, y: one.objective, color: COLORS[k], name: lanes[k].name, marks: one.seconds.length < 30 },
    { x: one.seconds, y: one.bound, color: COLORS[k], marks: true, line: false },
  ]), { x: "own seconds of the processor", y: "objective, bounds (hollow)", range, spanX: [0, last] });
  chart($("race_gap"), parts.map((one, k) => ({
    x: one.seconds, y: one.objective.map((f) => (f === null ? null : Math.max(1e-12, relative(f, best)))), color: COLORS[k], name: lanes[k].name,
  })), { x: "own seconds of the processor", y: "distance to the best bound", logY: true, spanX: [0, last] });
}

// Both curves again, as if they had run side by side, slowed down to six seconds.
export function replay() {
  const last = Math.max(...lanes.flatMap((one) => one.seconds)), began = performance.now();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const turn = (now) => {
    const share = still ? 1 : (now - began) / REPLAY;
    until = share >= 1 ? Infinity : share * last;
    show();
    if (share < 1) replaying = requestAnimationFrame(turn);
  };
  cancelAnimationFrame(replaying);
  turn(began);
}

whenShown("race", show);
