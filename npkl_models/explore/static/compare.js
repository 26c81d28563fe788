// The table of several backends, and the code.

import { $, element, row } from "/static/dom.js?token={{token}}";
import { work } from "/static/jobs.js?token={{token}}";
import { keep } from "/static/link.js?token={{token}}";
import { select } from "/static/tabs.js?token={{token}}";
import { codes, copied, say, showCode, state } from "/static/state.js?token={{token}}";

export function compare() {
  select("compare");
  keep();
  const backends = [...$("backends").querySelectorAll("input:checked")].map((box) => box.value);
  return work("compare", { backends }, "Comparing", heard);
}

export function heard(event) {
  if (event.kind === "progress") say(event.text);
  if (event.kind === "iterate") say(`${event.backend} is running: iteration ${event.iteration}`);
  if (event.kind !== "table") return;
  codes.table = event.code;
  showCode("table");
  $("checked").hidden = false;
  $("headline").textContent = event.headline;
  const rows = event.rows.map((one) => element("tr", { class: one.good ? "good" : one.ran ? "bad" : "idle" }, ...one.cells.map((cell) => element("td", {}, cell))));
  $("table").replaceChildren(row("th", ...event.columns), ...rows);
  say(event.agrees ? "All agree." : "NOT all agree: see the table.");
}

export function buildBackends() {
  const known = Object.entries(state.choices.backends);
  $("backends").replaceChildren(...known.map(([name, about]) => {
    const box = element("input", { type: "checkbox", value: name, checked: true });
    return element("label", {}, box, element("span", {}, name), element("small", {}, about));
  }));
  for (const [id, value] of [["first", "admm"], ["second", "interior"]]) {
    $(id).replaceChildren(...known.map(([name]) => element("option", { value: name }, name)));
    $(id).value = value;
  }
}

export async function copyCode() {
  if (!await copied($("code").textContent, $("copied"))) getSelection().selectAllChildren($("code"));
}
