// The form: its controls, what it says, and the problem in words.

import { $, element } from "/static/dom.js?token={{token}}";
import { ask } from "/static/net.js?token={{token}}";
import { codes, complain, say, showCode, state } from "/static/state.js?token={{token}}";
import { keep } from "/static/link.js?token={{token}}";
import { showFormulas, showNumbers } from "/static/formulas.js?token={{token}}";
import { forget } from "/static/answer.js?token={{token}}";

const OWN = "(a file of my own)";
const TOLD = ["formulation", "backend"]; // below which there is a line of words
export const UPLOADS = ["data", "pairs", "comparisons", "distances", "anchors"];
const COLUMNS = ["labels", "ids"]; // of a csv, in which they are looked for when it is loaded
const uploads = {}, refused = {}, loads = {}; // by field: the key of a file, one to load again, how often
let table = false; // whether the file of points is a csv
let asked = 0, waiting = 0;

export function form() {
  const given = {};
  for (const field of $("form").elements) {
    if (field.name && !field.closest(".off")) given[field.name] = field.value.trim();
  }
  if (given.data === OWN) {
    delete given.data;
    given.data_file = uploads.data;
  }
  for (const name of UPLOADS.slice(1)) {
    if (uploads[name] && !$(`${name}_upload`).closest(".off")) given[`${name}_file`] = uploads[name];
  }
  return given;
}

export function relevant() {
  const { fields, about, basis, losses } = state.choices.formulations[$("formulation").value];
  for (const box of document.querySelectorAll("[data-field]")) box.classList.toggle("off", !fields.includes(box.dataset.field));
  $("formulation_about").textContent = about;
  $("own").classList.toggle("off", $("data").value !== OWN);
  for (const name of COLUMNS) $(name).closest(".field").classList.toggle("off", $("data").value !== OWN || !table);
  $("n_basis").placeholder = basis;
  for (const option of $("loss").options) option.disabled = option.value && losses.length && !losses.includes(option.value);
  if ($("loss").selectedOptions[0]?.disabled) $("loss").value = losses[0];
}

// Whether the page shows an answer of another form than the one that stands here.
export function mark() {
  const other = state.answered !== null && state.answered !== JSON.stringify(form());
  $("stale").hidden = !other;
  return other;
}

export function changed() {
  relevant();
  keep();
  mark();
  clearTimeout(waiting);
  waiting = setTimeout(describe, 300);
}

function nothing() {
  $("title").textContent = $("data").value === OWN && !uploads.data ? "Choose a file of points." : "The form does not say a problem.";
  for (const id of ["words", "findings"]) $(id).replaceChildren();
}

export async function describe() {
  const own = ++asked;
  if ($("data").value === OWN && !uploads.data) { nothing(); return; }
  try {
    const found = await ask("/api/describe", { form: form() });
    if (own !== asked) return;
    complain(null);
    $("title").textContent = found.title;
    $("words").textContent = found.text;
    $("findings").replaceChildren(...found.findings.map((text) => element("li", {}, text)));
    state.least = found.least;
    codes.run = found.code;
    codes.command = found.command;
    showCode();
    if (mark()) showNumbers(null);
    showFormulas(found.formulas);
    offer(found);
  } catch (error) {
    if (own !== asked) return;
    nothing();
    complain(error);
  }
}

function offer(found) {
  $("backend_about").textContent = $("backend").value === "auto" ? `auto takes ${found.auto}`
    : found.declined[$("backend").value] ?? state.choices.backends[$("backend").value] ?? state.choices.printed[$("backend").value];
  for (const id of ["backend", "first", "second"]) {
    for (const option of $(id).options) {
      option.textContent = found.declined[option.value] ? `${option.value} (not for this problem)` : option.value;
    }
  }
  for (const box of $("backends").querySelectorAll("input")) {
    const reason = found.declined[box.value];
    if (reason && !box.disabled) box.checked = false;
    if (!reason && box.disabled) box.checked = true;
    box.disabled = Boolean(reason);
    box.parentElement.querySelector("small").textContent = reason ?? state.choices.backends[box.value];
  }
}

export async function upload(name) {
  const field = `${name}_upload`, about = `${name}_about`, kind = name === "data" ? "points" : name;
  const file = $(field).files[0] ?? refused[name];
  uploads[name] = "";
  const own = (loads[name] = (loads[name] ?? 0) + 1); // an earlier reply that comes later is not heard
  if (name === "data" && file) {
    table = /\.csv(\.gz|\.bz2)?$/.test(file.name);
    relevant();
  }
  if (file) {
    const columns = name === "data" && table ? Object.fromEntries(COLUMNS.map((one) => [one, $(one).value.trim()])) : {};
    try {
      const kept = await ask("/api/upload", file, { name: file.name, kind, ...columns });
      if (own !== loads[name]) return;
      uploads[name] = kept.key;
      $(about).textContent = kept.about;
      $("n").value = ""; // a file is taken as a whole
      complain(null);
    } catch (error) {
      if (own !== loads[name]) return;
      $(about).textContent = `${file.name} was refused.`;
      $(field).value = "";
      refused[name] = file;
      forget();
      nothing();
      $("optimality").hidden = true;
      say("No answer.");
      complain(error);
      return;
    }
  }
  changed();
}

function control({ name, label, whole, choices, empty, default: value }) {
  const own = choices.length
    ? element("select", { id: name, name, "aria-describedby": TOLD.includes(name) && `${name}_about` }, ...choices.map((one) => element("option", { value: one }, one || empty)))
    : element("input", { id: name, name, inputmode: whole ? "numeric" : "decimal", placeholder: empty, size: 6, autocomplete: "off" });
  if (value !== null) own.value = value;
  const box = element("div", { class: choices.length ? "field wide" : "field", "data-field": name }, element("label", { for: name }, label), own);
  if (TOLD.includes(name)) box.append(element("small", { id: `${name}_about` }));
  return box;
}

export function build(fields) {
  for (const field of fields) {
    if (field.default > 0 && field.default < 1e-3) field.default = field.default.toExponential();
    if (field.name === "data") field.choices.push(OWN);
    $(`part_${field.part}`).append(control(field));
  }
  $("data").closest(".field").after($("own"), ...COLUMNS.map((name) => $(name).closest(".field")));
  for (const name of COLUMNS) $(name).addEventListener("change", () => upload("data"));
  $("part_pairs").append($("links"));
}
