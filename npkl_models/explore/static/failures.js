// Presets that fail: each sets the form, runs, and says what is seen, why, and what helps.

import { $, element } from "/static/dom.js?token={{token}}";
import { changed, describe } from "/static/form.js?token={{token}}";
import { fill } from "/static/link.js?token={{token}}";
import { run } from "/static/answer.js?token={{token}}";
import { state } from "/static/state.js?token={{token}}";

const words = (form) => Object.fromEntries(Object.entries(form).map(([name, value]) => [name, String(value)]));

export function buildFailures() {
  $("presets").replaceChildren(...state.choices.failures.map((one) => {
    const button = element("button", { type: "button", id: `fail_${one.name}` }, one.title);
    button.addEventListener("click", () => start(one.name, one.form));
    return element("section", { class: "failure" }, button, element("p", {}, one.why));
  }));
}

// Sets the form as a preset has it, and runs; the name is null where the form is the cure.
function start(name, form) {
  if (state.running) return null;
  state.failure = name;
  fill(words(form));
  changed();
  describe();
  return run();
}

// What a preset shows, above its answer; nothing where the form is no preset's.
export function showLesson() {
  const one = state.choices.failures.find(({ name }) => name === state.failure);
  $("lesson").hidden = !one;
  if (!one) return;
  $("lesson_title").textContent = one.title;
  for (const part of ["seen", "why", "helps"]) $(`lesson_${part}`).textContent = one[part];
}

export function listenLesson() {
  $("cure").addEventListener("click", () => {
    const one = state.choices.failures.find(({ name }) => name === state.failure);
    if (one) start(null, one.cure);
  });
  $("form").addEventListener("input", () => { state.failure = null; });
}
