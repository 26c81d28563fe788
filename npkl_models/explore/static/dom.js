// Small helpers: elements, and numbers in words.

export const $ = (id) => document.getElementById(id);
export const narrow = matchMedia("(max-width: 56rem)");
export const dark = matchMedia("(prefers-color-scheme: dark)");
const SPACE = "http://www.w3.org/2000/svg";

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function shape(tag, attributes, text = null) {
  const made = document.createElementNS(SPACE, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

// HTML of the server's own making: formulas and brackets.
export function markup(text) {
  const made = document.createElement("div");
  made.innerHTML = text;
  return made;
}

export function number(value, digits = 6) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e7) ? value.toExponential(1) : String(Number(value.toPrecision(digits)));
}

export function row(tag, ...cells) {
  return element("tr", {}, ...cells.map((cell) => element(tag, tag === "th" ? { scope: "col" } : {}, cell)));
}
