// What the theme leaves out for readers with a keyboard or a screen reader.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll("p.caption[role=heading]")) caption.ariaLevel = "2";
  for (const box of document.querySelectorAll("pre, .table-wrapper, div.math"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) link.ariaLabel = link.textContent;
});
