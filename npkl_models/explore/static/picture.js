// The points of a step: where they lie, and the low eigenvector of the slack on them.

import { shape } from "/static/dom.js?token={{token}}";

const SIGNS = ["var(--one)", "var(--two)"]; // of negative and positive entries
const FORMS = [
  (x, y, r) => shape("circle", { cx: x, cy: y, r }),
  (x, y, r) => shape("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r }),
  (x, y, r) => shape("path", { d: `M${x} ${y - 1.2 * r}L${x + 1.1 * r} ${y + 0.8 * r}H${x - 1.1 * r}Z` }),
]; // of classes

function paper(place, width, height, words) {
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
  place.replaceChildren(picture);
  return picture;
}

// Places (n x 2) as points, filled by sign and size of the values; the form of a point is its class.
// Anchors, if there are any, are squares in the colour of the text.
export function points(place, places, values, classes, anchors) {
  const width = Math.max(240, place.clientWidth || 320), height = 260, room = 16;
  const picture = paper(place, width, height, `${anchors ? "The sensors in the frame of the anchors, which are squares" : "The points by the kernel"}; the colour is the sign of the low eigenvector, the size its magnitude`);
  const scale = Math.min(width / 2, height / 2) - room;
  const most = anchors ? 1 : Math.max(1e-12, ...places.flat().map(Math.abs));
  const largest = Math.max(1e-12, ...values.map(Math.abs));
  places.forEach(([x, y], k) => {
    const own = FORMS[(classes?.[k] ?? 0) % FORMS.length](width / 2 + (x / most) * scale, height / 2 - (y / most) * scale, 2.5 + 5 * Math.abs(values[k]) / largest);
    if (anchors?.[k]) {
      const fixed = FORMS[1](width / 2 + (x / most) * scale, height / 2 - (y / most) * scale, 3.5);
      fixed.setAttribute("fill", "var(--ink)");
      picture.append(fixed);
      return;
    }
    own.setAttribute("fill", SIGNS[values[k] > 0 ? 1 : 0]);
    own.setAttribute("fill-opacity", 0.25 + 0.75 * Math.abs(values[k]) / largest);
    own.setAttribute("stroke", SIGNS[values[k] > 0 ? 1 : 0]);
    picture.append(own);
  });
}

// A bar for each point, in the order of the classes, which are parted by lines.
export function bars(place, values, classes) {
  const width = Math.max(240, place.clientWidth || 320), height = 160, left = 8, bottom = 22;
  const picture = paper(place, width, height, "The low eigenvector of the slack, a bar for each point, ordered by class");
  const largest = Math.max(1e-12, ...values.map(Math.abs)), step = (width - 2 * left) / values.length;
  const middle = (height - bottom) / 2;
  values.forEach((value, k) => {
    const size = (Math.abs(value) / largest) * (middle - 4);
    picture.append(shape("rect", {
      x: left + k * step, width: Math.max(0.8, step * 0.85), y: value > 0 ? middle - size : middle, height: Math.max(size, 0.5), fill: SIGNS[value > 0 ? 1 : 0],
    }));
    if (classes && k && classes[k] !== classes[k - 1]) picture.append(shape("path", { d: `M${left + k * step} 2V${height - bottom}`, class: "here" }));
  });
  picture.append(shape("path", { d: `M${left} ${middle}H${width - left}`, class: "axis" }));
  picture.append(shape("text", { x: width / 2, y: height - 6, "text-anchor": "middle" }, classes ? "points, ordered by class" : "points"));
}
