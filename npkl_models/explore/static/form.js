// The form: its controls, what it says, and the problem in words.

import { $, element } from "/static/dom.js?token={{token}}";
import { ask } from "/static/net.js?token={{token}}";
import { codes, complain, showCode, state } from "/static/state.js?token={{token}}";
import { keep } from "/static/link.js?token={{token}}";
import { showFormulas } from "/static/formulas.js?token={{token}}";

const OWN = "(a file of my own)";
const TOLD = ["formulation", "backend"]; // below which there is a line of words
export const UPLOADS = ["data", "pairs", "comparisons", "distances", "anchors"];
const uploads = {}; // the key of each file
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
  $("n_basis").placeholder = basis;
  for (const option of $("loss").options) option.disabled = option.value && losses.length && !losses.includes(option.value);
  if ($("loss").selectedOptions[0]?.disabled) $("loss").value = losses[0];
}

export function changed() {
  relevant();
  keep();
  clearTimeout(waiting);
  waiting = setTimeout(describe, 300);
}

export async function describe() {
  const own = ++asked;
  if ($("data").value === OWN && !uploads.data) {
    $("title").textContent = "Choose a file of points.";
    $("words").textContent = "";
    return;
  }
  try {
    const found = await ask("/api/describe", { form: form() });
    if (own !== asked) return;
    complain(null);
    $("title").textContent = found.title;
    $("words").textContent = found.text;
    $("findings").replaceChildren(...found.findings.map((text) => element("li", {}, text)));
    codes.run = found.code;
    codes.command = found.command;
    showCode();
    showFormulas(found.formulas);
    offer(found);
  } catch (error) {
    if (own === asked) complain(error);
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
  const file = $(field).files[0];
  uploads[name] = "";
  if (file) {
    try {
      const kept = await ask("/api/upload", file, { name: file.name, kind });
      uploads[name] = kept.key;
      $(about).textContent = kept.about;
      $("n").value = ""; // a file is taken as a whole
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
  $("data").closest(".field").after($("own"));
  $("part_pairs").append($("links"));
}
