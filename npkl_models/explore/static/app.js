// The page: the form, the jobs that it begins, and what is shown of their answers.

import { $, address, ask, element, listen, number } from "/static/dom.js?token={{token}}";
import { chart } from "/static/charts.js?token={{token}}";

const OWN = "(a file of my own)";
const uploads = { data_file: "", pairs_file: "" };
const codes = { run: "", path: "", table: "", command: "" };
const state = { choices: null, running: false, answer: null, path: null, rows: [], asked: 0, live: 0 };
const narrow = matchMedia("(max-width: 56rem)");
const dark = matchMedia("(prefers-color-scheme: dark)");

// ------------------------------------------------------------------------------------- the form

function form() {
  const given = {};
  for (const field of $("form").elements) {
    const hidden = field.closest(".off");
    if (field.name && !hidden) given[field.name] = field.value.trim();
  }
  if (given.data === OWN) {
    delete given.data;
    given.data_file = uploads.data_file;
  }
  if (uploads.pairs_file && !$("pairs_upload").closest(".off")) given.pairs_file = uploads.pairs_file;
  return given;
}

function relevant() {
  const { fields, about, basis } = state.choices.formulations[$("formulation").value];
  for (const box of document.querySelectorAll("[data-field]")) box.classList.toggle("off", !fields.includes(box.dataset.field));
  $("formulation_about").textContent = about;
  $("own").classList.toggle("off", $("data").value !== OWN);
  $("n_basis").placeholder = basis;
}

let waiting = 0;
function changed() {
  relevant();
  clearTimeout(waiting);
  waiting = setTimeout(describe, 300);
}

async function describe() {
  const asked = ++state.asked;
  if ($("data").value === OWN && !uploads.data_file) {
    $("title").textContent = "Choose a file of points.";
    $("words").textContent = "";
    return;
  }
  try {
    const found = await ask("/api/describe", { form: form() });
    if (asked !== state.asked) return;
    complain(null);
    $("title").textContent = found.title;
    $("words").textContent = found.text;
    $("findings").replaceChildren(...found.findings.map((text) => element("li", {}, text)));
    codes.run = found.code;
    codes.command = found.command;
    showCode();
    offer(found);
  } catch (error) {
    if (asked === state.asked) complain(error);
  }
}

function offer(found) {
  $("backend_about").textContent = $("backend").value === "auto" ? `auto takes ${found.auto}`
    : found.declined[$("backend").value] ?? state.choices.backends[$("backend").value];
  for (const option of $("backend").options) {
    const reason = found.declined[option.value];
    option.textContent = reason ? `${option.value} (not for this problem)` : option.value;
  }
  for (const box of $("backends").querySelectorAll("input")) {
    const reason = found.declined[box.value];
    if (reason && !box.disabled) box.checked = false;
    if (!reason && box.disabled) box.checked = true;
    box.disabled = Boolean(reason);
    box.parentElement.querySelector("small").textContent = reason ?? state.choices.backends[box.value];
  }
}

async function upload(kind, field, about) {
  const file = $(field).files[0];
  const name = kind === "pairs" ? "pairs_file" : "data_file";
  uploads[name] = "";
  if (file) {
    try {
      const kept = await ask("/api/upload", file, { name: file.name, kind });
      uploads[name] = kept.key;
      $(about).textContent = kept.about;
      complain(null);
    } catch (error) {
      $(about).textContent = "";
      $(field).value = "";
      complain(error);
      return;
    }
  }
  changed();
}

// ------------------------------------------------------------------------------------- jobs

function complain(error) {
  $("error").hidden = error === null;
  $("error").textContent = error === null ? "" : error.message ?? String(error);
}

function say(text) { $("status").textContent = text; }

function busy(on) {
  state.running = on;
  for (const id of ["run", "follow", "check"]) $(id).disabled = on;
  $("stop").disabled = !on;
}

async function work(action, body, words, heard) {
  if (state.running) return;
  busy(true);
  complain(null);
  say(`${words} …`);
  let failed = false;
  try {
    const { key } = await ask(`/api/${action}`, { form: form(), ...body });
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
}

const stop = () => ask("/api/stop", {}).then(({ stopping }) => { if (stopping) say("stopping after this iteration …"); }, complain);

// ------------------------------------------------------------------------------------- an answer

function run() {
  state.rows = [];
  state.answer = null;
  select("one");
  $("verdict").hidden = $("live").hidden = true;
  if (narrow.matches) $("status").scrollIntoView();
  const begun = performance.now();
  return work("run", {}, "solving", (event, key) => {
    if (event.kind === "iterate") {
      state.rows.push(event);
      live();
      say(`running ${((performance.now() - begun) / 1000).toFixed(1)} s: iteration ${event.iteration}, objective ${number(event.objective, 8)}, bound ${number(event.bound, 8)}, rank ${event.rank}`);
    } else if (event.kind === "answer") show(event, key);
  });
}

function live(history = null, bound = null) {
  const rows = history ?? {
    seconds: state.rows.map((r) => r.seconds), objective: state.rows.map((r) => r.objective), bound: state.rows.map((r) => r.bound),
  };
  const bounds = [...rows.bound, bound].filter((b) => b !== null && Number.isFinite(b));
  const objectives = rows.objective.filter((f) => f !== null);
  $("live").hidden = !objectives.length;
  if (!objectives.length) return;
  const proved = bounds.length > 0;
  const best = proved ? Math.max(...bounds) : Math.min(...objectives);
  const last = objectives.at(-1) ?? 0;
  const middle = objectives[Math.floor(objectives.length / 4)] ?? last;
  const near = bounds.filter((b) => b > last - 3 * Math.max(Math.abs(middle - last), 0.05 * (1 + Math.abs(last))));
  chart($("live_objective"), [
    { x: rows.seconds, y: rows.objective, color: "var(--one)", name: "objective" },
    { x: rows.seconds, y: rows.bound, color: "var(--two)", name: "bound", marks: true, line: false },
  ], { x: "seconds", y: "objective, bound", range: [middle, last, ...near, ...objectives.slice(-3)] });
  chart($("live_gap"), [{
    x: rows.seconds, y: rows.objective.map((f) => (f === null ? null : Math.max(0, f - best) / (1 + Math.abs(f) + Math.abs(best)))),
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
  $("which").value = "run";
  showCode();
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
  const known = Number.isFinite(found.bound) && Number.isFinite(found.upper);
  const [low, high] = known ? differing(found.bound, found.upper) : [number(found.bound, 9), number(found.upper, 9)];
  const certified = ["proved", "probable"].includes(found.rigour);
  $("inequality").replaceChildren(low, " ≤ optimum ≤ ", high, certified ? "" : ` (the lower bound is not certified: ${found.rigour})`);
  const facts = {
    objective: number(found.objective, 9), "relative gap": number(found.gap), rigour: found.rigour, "rank of K": found.rank, "trace of K": number(found.trace),
    backend: found.backend, "cluster sizes": found.sizes.join(", "),
    "Rand index": found.accuracy === null ? "no classes" : number(found.accuracy, 4),
  };
  $("numbers").replaceChildren(...Object.entries(facts).map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, String(value)))));
  draw($("figures"), key, Object.keys(state.choices.figures));
}

// Figures of an answer, each replaced when its picture has come; an older request's picture is dropped.
function draw(place, key, names, index = 0) {
  const round = (place.round = (place.round ?? 0) + 1);
  const old = [...place.children];
  const boxes = names.map((name, k) => old[k] ?? element("figure", {}, element("div"), element("figcaption", {}, state.choices.figures[name])));
  place.replaceChildren(...boxes);
  return names.reduce((before, name, k) => before.then(async () => {
    if (place.round !== round) return;
    const box = boxes[k].firstElementChild;
    boxes[k].classList.add("waiting");
    const how = { index, by: $("by").value, width: Math.round(Math.min(box.clientWidth || 320, 560)), dark: dark.matches ? 1 : 0 };
    try {
      const picture = await ask(`/api/jobs/${key}/figure/${name}`, undefined, how);
      if (place.round === round) box.innerHTML = picture;
    } catch (error) {
      if (place.round === round) box.replaceChildren(element("p", {}, `Not drawn: ${error.message}`));
    }
    boxes[k].classList.remove("waiting");
  }), Promise.resolve());
}

// ------------------------------------------------------------------------------------- the path of gamma

function follow() {
  select("path");
  const body = { low: $("low").value, high: $("high").value, count: $("count").value };
  return work("path", body, "following γ", (event, key) => {
    if (event.kind === "iterate") say(`following γ: iteration ${event.iteration}, objective ${number(event.objective, 8)}`);
    if (event.kind !== "path") return;
    state.path = { ...event, key };
    codes.path = event.code;
    $("which").value = "path";
    showCode();
    $("along").hidden = false;
    $("drag").max = event.gamma.length - 1;
    const own = Math.log(Number($("gamma").value) || 1);
    const away = event.gamma.map((g) => Math.abs(Math.log(g) - own));
    $("drag").value = away.indexOf(Math.min(...away));
    const total = event.iterations.reduce((a, b) => a + b, 0);
    say(`${event.gamma.length} problems by ${event.backend}: ${total} iterations in all, largest gap ${number(Math.max(...event.gap))}.`);
    stand();
  });
}

let standing = 0;
function stand() {
  const found = state.path;
  if (!found) return;
  const k = Number($("drag").value), at = found.gamma[k];
  const accuracy = found.accuracy[k];
  $("drag").setAttribute("aria-valuetext", `gamma ${number(at, 3)}`);
  $("here").textContent = `γ = ${number(at, 4)}: objective ${number(found.objective[k], 7)}, gap ${number(found.gap[k])}, rank ${found.rank[k]}, ${accuracy === null ? "" : `Rand index ${number(accuracy, 4)}, `}${found.status[k]}`;
  $("path_bracket").innerHTML = found.bracket[k];
  const curves = [
    ["objective", found.objective, {}, "var(--one)"], ["relative gap", found.gap, { logY: true }, "var(--two)"],
    ["rank of K", found.rank, { zero: true, whole: true }, "var(--three)"], ["Rand index", found.accuracy, {}, "var(--four)"],
  ].filter(([, values]) => values.some((v) => v !== null));
  const place = $("path_charts");
  while (place.children.length < curves.length) place.append(element("div", { class: "chart" }));
  while (place.children.length > curves.length) place.lastChild.remove();
  curves.forEach(([name, y, how, color], c) => chart(place.children[c], [{ x: found.gamma, y, color, marks: true }],
    { x: "γ", y: name, logX: true, here: at, height: 190, ...how }));
  clearTimeout(standing);
  standing = setTimeout(() => draw($("path_figures"), found.key, ["embedding", "kernel"], k), 80);
}

// ------------------------------------------------------------------------------------- comparison and code

function compare() {
  select("compare");
  const backends = [...$("backends").querySelectorAll("input:checked")].map((box) => box.value);
  return work("compare", { backends }, "comparing", (event) => {
    if (event.kind === "progress") say(event.text);
    if (event.kind !== "table") return;
    codes.table = event.code;
    $("which").value = "table";
    showCode();
    $("checked").hidden = false;
    $("headline").textContent = event.headline;
    const head = element("tr", {}, ...event.columns.map((name) => element("th", { scope: "col" }, name)));
    const rows = event.rows.map((row) => element("tr", { class: row.good ? "good" : row.ran ? "bad" : "idle" }, ...row.cells.map((cell) => element("td", {}, cell))));
    $("table").replaceChildren(head, ...rows);
    say(event.agrees ? "All agree." : "NOT all agree: see the table.");
  });
}

function showCode() {
  $("code").textContent = codes[$("which").value] || "# nothing has been computed yet";
}

async function copy() {
  try {
    await navigator.clipboard.writeText($("code").textContent);
    $("copied").textContent = "copied";
  } catch {
    getSelection().selectAllChildren($("code"));
    $("copied").textContent = "selected: press Ctrl-C";
  }
  setTimeout(() => { $("copied").textContent = ""; }, 4000);
}

// ------------------------------------------------------------------------------------- tabs and keys

const tabs = [...document.querySelectorAll("[role=tab]")];

function select(panel, focus = false) {
  for (const tab of tabs) {
    const on = tab.getAttribute("aria-controls") === panel;
    tab.setAttribute("aria-selected", on);
    tab.tabIndex = on ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !on;
    if (on && focus) tab.focus();
  }
  redraw();
}

function redraw() {
  if (!$("one").hidden) live(state.answer && !state.running ? state.answer.history : null, state.running ? null : state.answer?.bound ?? null);
  if (!$("path").hidden) stand();
}

function keys(event) {
  if (event.key === "Escape" && state.running) stop();
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (event.target.role === "tab" || event.target.getAttribute?.("role") === "tab") {
    const k = tabs.indexOf(event.target);
    const to = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : step ? (k + step + tabs.length) % tabs.length : null;
    if (to !== null) { event.preventDefault(); select(tabs[to].getAttribute("aria-controls"), true); }
  }
  if (event.key === "Enter" && ["low", "high", "count"].includes(event.target.id)) follow();
}

const TOLD = ["formulation", "backend"]; // below which there is a line of words

function control({ name, label, whole, choices, empty, default: value }) {
  const own = choices.length
    ? element("select", { id: name, name, "aria-describedby": TOLD.includes(name) && `${name}_about` }, ...choices.map((one) => element("option", { value: one }, one)))
    : element("input", { id: name, name, inputmode: whole ? "numeric" : "decimal", placeholder: empty, size: 6 });
  if (value !== null) own.value = value > 0 && value < 1e-3 ? value.toExponential() : value;
  const box = element("div", { class: choices.length ? "field wide" : "field", "data-field": name }, element("label", { for: name }, label), own);
  if (TOLD.includes(name)) box.append(element("small", { id: `${name}_about` }));
  return box;
}

function build(fields) {
  for (const field of fields) {
    if (field.name === "data") field.choices.push(OWN);
    $(`part_${field.part}`).append(control(field));
  }
  $("data").closest(".field").after($("own"));
  $("part_pairs").append($("links"));
}

async function begin() {
  const choices = (state.choices = await ask("/api/choices"));
  $("version").textContent = `npkl_models ${choices.version}, on this machine alone`;
  build(choices.fields);
  $("backends").replaceChildren(...Object.entries(choices.backends).map(([name, about]) => {
    const box = element("input", { type: "checkbox", value: name, checked: true });
    return element("label", {}, box, element("span", {}, name), element("small", {}, about));
  }));
  if (choices.running) { $("stop").disabled = false; say(`A ${choices.running} that was begun before is still running.`); }
  $("form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
  $("form").addEventListener("input", (event) => { if (event.target.type !== "file") changed(); });
  $("data_upload").addEventListener("change", () => upload("points", "data_upload", "data_about"));
  $("pairs_upload").addEventListener("change", () => upload("pairs", "pairs_upload", "pairs_about"));
  $("stop").addEventListener("click", stop);
  $("follow").addEventListener("click", follow);
  $("check").addEventListener("click", compare);
  $("copy").addEventListener("click", copy);
  $("which").addEventListener("change", showCode);
  $("drag").addEventListener("input", stand);
  $("by").addEventListener("change", () => state.answer && draw($("figures"), state.answer.key, Object.keys(choices.figures)));
  for (const tab of tabs) tab.addEventListener("click", () => select(tab.getAttribute("aria-controls")));
  document.addEventListener("keydown", keys);
  addEventListener("resize", redraw);
  dark.addEventListener("change", () => {
    redraw();
    if (state.answer) draw($("figures"), state.answer.key, Object.keys(choices.figures));
  });
  relevant();
  redraw();
  await describe();
}

begin().catch(complain);
