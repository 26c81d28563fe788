// What the modules share: choices of the server, the job of this tab, codes, and the lines that speak.

import { $ } from "/static/dom.js?token={{token}}";

export const state = { choices: null, least: 1, running: false, key: null, other: null, answer: null, answered: null, failure: null };
export const codes = { run: "", path: "", table: "", steps: "", race: "", command: "" };

export function complain(error) {
  $("error").hidden = error === null;
  $("error").textContent = error === null ? "" : error.message ?? String(error);
}

// A difference of objectives, relative as in the library's own gaps.
export function relative(one, other) { return (one - other) / (state.least + Math.abs(one) + Math.abs(other)); }

export function say(text) { $("status").textContent = text; }

export function showCode(which = null) {
  if (which) $("which").value = which;
  $("code").textContent = codes[$("which").value] || "# nothing has been computed yet";
}

export async function copied(text, where) {
  try {
    await navigator.clipboard.writeText(text);
    where.textContent = "Copied.";
  } catch {
    where.textContent = "The browser does not copy: select the text below, and press Ctrl-C.";
    return false;
  }
  setTimeout(() => { where.textContent = ""; }, 6000);
  return true;
}
