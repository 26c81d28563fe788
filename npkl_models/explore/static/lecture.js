// For a lecture: the whole screen with larger type, and a handout on paper.

import { $ } from "/static/dom.js?token={{token}}";
import { redraw } from "/static/tabs.js?token={{token}}";

function large(on) {
  document.documentElement.classList.toggle("projector", on);
  $("large").setAttribute("aria-pressed", on);
  redraw();
}

// The larger type comes also where the browser refuses the whole screen.
async function toggle() {
  if (document.documentElement.classList.contains("projector")) {
    if (document.fullscreenElement) await document.exitFullscreen();
    large(false);
    return;
  }
  large(true);
  try { await document.documentElement.requestFullscreen(); } catch { /* refused: the type is larger all the same */ }
}

export function listenLecture() {
  $("large").addEventListener("click", toggle);
  $("print").addEventListener("click", () => window.print());
  document.addEventListener("fullscreenchange", () => { if (!document.fullscreenElement) large(false); });
  addEventListener("beforeprint", () => {
    $("printed_code").textContent = $("code").textContent;
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
}
