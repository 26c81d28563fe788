// Tabs and keys.

import { $ } from "/static/dom.js?token={{token}}";

const tabs = [...document.querySelectorAll("[role=tab]")];
const drawn = {}; // by panel: what draws it again

export function whenShown(panel, draw) { drawn[panel] = draw; }

export function select(panel, focus = false) {
  for (const tab of tabs) {
    const on = tab.getAttribute("aria-controls") === panel;
    tab.setAttribute("aria-selected", on);
    tab.tabIndex = on ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !on;
    if (on && focus) tab.focus();
  }
  redraw();
}

export function redraw() {
  for (const [panel, draw] of Object.entries(drawn)) if (!$(panel).hidden) draw();
}

// Arrows, Home and End among the tabs; returns whether the key was one of these.
function alongTabs(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const k = tabs.indexOf(event.target);
  const to = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1 : step ? (k + step + tabs.length) % tabs.length : null;
  if (to === null) return;
  event.preventDefault();
  tabs[to].click();
  tabs[to].focus();
}

export function listenKeys(chosen, others) {
  for (const tab of tabs) tab.addEventListener("click", () => { select(tab.getAttribute("aria-controls")); chosen(); });
  document.addEventListener("keydown", (event) => {
    if (tabs.includes(event.target)) alongTabs(event);
    others(event);
  });
}
