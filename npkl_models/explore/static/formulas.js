// Primal and dual side by side: each summand with its number, and the conditions of optimality.

import { $, element, markup, number, row } from "/static/dom.js?token={{token}}";
import { state } from "/static/state.js?token={{token}}";

const SMALL = 1e-5; // of objective and bound: what counts as zero
const shown = { formulas: null, numbers: null, live: "" };

export function showFormulas(formulas) {
  shown.formulas = formulas;
  paint();
}

// Numbers of an answer, or of an iterate while the solver runs; null for none.
export function showNumbers(numbers, live = "") {
  Object.assign(shown, { numbers, live });
  paint();
}

const value = (x) => element("span", { class: "value" }, number(x, 7));

function side(title, formula, terms, values, total, name) {
  const rows = terms.map(({ name: words, formula: text }, k) => row("td", words, markup(text), value(values?.[k])));
  const last = element("tr", { class: "total" }, element("td", { colspan: 2 }, name), element("td", {}, value(total)));
  const how = { class: "scroll", tabindex: 0, role: "region", "aria-label": `${title}, with numbers` };
  return element("section", how, element("h3", {}, title), markup(formula),
    element("table", { class: "terms" }, row("th", "summand", "formula", "number"), ...rows, last));
}

function verdict(open, size) {
  if (open === null || open === undefined || !Number.isFinite(open)) return element("span", {}, "–");
  const holds = Math.abs(open) <= SMALL * size;
  return element("strong", { class: holds ? "good" : "bad" }, holds ? "holds" : "violated");
}

function conditions(f, n) {
  const size = n ? state.least + Math.abs(n.objective) + Math.abs(n.bound ?? n.objective) : 1;
  const fenchel = n?.fenchel.reduce((a, b) => a + b, 0);
  const low = n ? Math.min(0, n.min_eigenvalue) : null;
  const rows = [
    ["Primal feasibility", f.feasibility, "largest violation", n?.violation, verdict(n?.violation, 1)],
    ...(f.cone ? [["Dual feasibility", f.eigenvalue, "smallest eigenvalue of the slack", n?.min_eigenvalue, verdict(low, 1)]] : []),
    ["Complementarity", f.complementarity, f.cone ? "tr(SK)" : "tr(SK) + R(K) + R*(−S)", n?.complementarity, verdict(n?.complementarity, size)],
    ...f.slopes.map(({ name, formula }, k) => [`Fenchel equality, ${name}`, formula, "Σ f(z) + f*(y) − yz", n?.fenchel[k], verdict(n?.fenchel[k], size)]),
  ];
  const table = element("table", { class: "conditions" }, row("th", "condition", "formula", "measured by", "number", "verdict"),
    ...rows.map(([name, formula, what, x, said]) => row("td", name, markup(formula), what, value(x), said)));
  const sum = n && Number.isFinite(n.gap)
    ? `The gap is the sum of these violations: ${number(n.gap)} = ${number(fenchel)} (Fenchel) + ${number(n.complementarity)} (complementarity), but for rounding, repairs and equalities.` : "";
  return [table, element("p", {}, sum)];
}

function paint() {
  const { formulas: f, numbers: n, live } = shown;
  if (!f) return;
  const matches = n && n.primal.length === f.primal_terms.length;
  const now = matches ? n : null;
  $("optimality").hidden = false;
  $("point").textContent = !now ? "No numbers yet." : live || "At the certified kernel K and its multipliers y:";
  $("sides").replaceChildren(
    side("Primal", f.primal, f.primal_terms, now?.primal, now?.objective, "objective"),
    side("Dual", f.dual, f.dual_terms, now?.dual, now?.bound, "bound"),
  );
  $("slack_formula").replaceChildren(markup(f.slack));
  $("conditions").replaceChildren(...conditions(f, now));
  $("letters").replaceChildren(...f.definitions.map(({ name, formula }) => element("div", {}, element("dt", {}, name), element("dd", {}, markup(formula)))));
}
