// The form's state in the fragment of the address: what is restored on load, and copied for others.

import { $, element } from "/static/dom.js?token={{token}}";
import { copied, state } from "/static/state.js?token={{token}}";

const BESIDE = { low: "0.1", high: "10", count: "20", first: "admm", second: "interior" }; // fields outside the form

const fields = () => [...$("form").elements].filter((one) => one.name && one.type !== "file");
const usual = (name) => state.choices.fields.find((one) => one.name === name)?.default ?? "";
const opened = () => document.querySelector("[role=tab][aria-selected=true]").getAttribute("aria-controls");

export function fragment() {
  const given = {};
  for (const field of fields()) {
    if (!field.closest(".off") && field.value.trim() !== String(usual(field.name))) given[field.name] = field.value.trim();
  }
  for (const [name, value] of Object.entries(BESIDE)) if ($(name).value.trim() !== value) given[name] = $(name).value.trim();
  if (state.failure) given.failure = state.failure;
  if (opened() !== "one") given.tab = opened();
  return new URLSearchParams(given).toString();
}

export function keep() {
  const words = fragment();
  history.replaceState(null, "", `${location.pathname}${location.search}${words ? `#${words}` : ""}`);
}

// Sets the form as the fragment says, the other fields to their defaults; returns what is beside the form.
export function restore() {
  const given = new URLSearchParams(location.hash.slice(1));
  fill(Object.fromEntries(given));
  for (const [name, value] of Object.entries(BESIDE)) $(name).value = given.get(name) ?? value;
  const failure = given.get("failure"), tab = given.get("tab");
  state.failure = state.choices.failures.some((one) => one.name === failure) ? failure : null;
  return { given: [...given.keys()].length > 0, tab: $(tab)?.getAttribute("role") === "tabpanel" ? tab : "one" };
}

export function fill(given) {
  for (const field of fields()) {
    const value = given[field.name];
    if (field.tagName === "SELECT") {
      const known = [...field.options].some((one) => one.value === value);
      field.value = known ? value : usual(field.name);
    } else field.value = value ?? usual(field.name);
  }
}

// A command, not an address: the address has the token, which opens this machine's server.
export async function share() {
  const words = fragment(), place = $("shared");
  const text = words ? `npkl explore --open '${words}'` : "npkl explore";
  place.replaceChildren(
    element("p", {}, "This command opens the same form for anybody who has npkl_models. It holds no token. In a page that is open already, put the part after --open behind a # at the end of the address."),
    element("pre", { tabindex: 0, role: "region", "aria-label": "Command that opens this form" }, text), element("p", { id: "shared_how", role: "status" }),
  );
  const files = [...document.querySelectorAll("input[type=file]")].some((one) => one.files.length);
  if (files) place.append(element("p", {}, "Files of your own are not in it: each reader loads the file again."));
  place.hidden = false;
  await copied(text, $("shared_how"));
}
