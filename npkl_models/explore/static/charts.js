// Line charts as SVG: axes with their quantities, lines, hollow markers, a dashed line where one stands.

import { number } from "/static/dom.js?token={{token}}";

const SPACE = "http://www.w3.org/2000/svg";

function shape(tag, attributes, text = null) {
  const made = document.createElementNS(SPACE, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

function ticks(low, high, log, wanted) {
  if (log) {
    const first = Math.ceil(low - 1e-9), last = Math.floor(high + 1e-9);
    if (last - first < 1) {
      const between = [-1, 0, 1].flatMap((k) => [1, 2, 5].map((m) => Math.floor(low) + k + Math.log10(m)));
      return between.filter((at) => at >= low && at <= high);
    }
    const step = Math.max(1, Math.ceil((last - first) / wanted));
    const found = [];
    for (let k = first; k <= last; k += step) found.push(k);
    return found.length ? found : [low];
  }
  const rough = (high - low) / wanted, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5, 10].find((m) => m * unit >= rough) ?? 10);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step / 1e6 ? 0 : at);
  return found;
}

function label(value, log) {
  if (!log) return number(value, 5);
  if (Math.abs(value) <= 2) return number(10 ** value, 2);
  return `${Math.round(10 ** (value - Math.floor(value + 1e-9)))}e${Math.floor(value + 1e-9)}`;
}

function span(values, log) {
  let low = Math.min(...values), high = Math.max(...values);
  if (!(high - low > 1e-9 * Math.max(1e-9, Math.abs(high)))) {
    const room = log ? 0.5 : Math.max(Math.abs(high) * 0.05, 1e-9);
    low -= room; high += room;
  }
  const room = (high - low) * 0.05;
  return [low - room, high + room];
}

// series: [{ x, y, color, marks, line, name }]; how: { x, y (words), logX, logY, range, here, height, zero }
export function chart(place, series, how) {
  const width = Math.max(240, place.clientWidth || 320), height = how.height ?? 220;
  const left = 64, right = 10, top = 10 + (series.some((s) => s.name) ? 18 : 0), bottom = 42;
  const turn = (value, log) => (log ? Math.log10(value) : value);
  const good = (value, log) => value !== null && Number.isFinite(value) && (!log || value > 0);
  const points = series.map((s) => s.x.map((x, k) => [x, s.y[k]])
    .filter(([x, y]) => good(x, how.logX) && good(y, how.logY)).map(([x, y]) => [turn(x, how.logX), turn(y, how.logY)]));
  const all = points.flat();
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": how.words ?? `${how.y} against ${how.x}` });
  place.replaceChildren(picture);
  const [x0, x1] = all.length ? span(all.map((p) => p[0]), how.logX) : [0, 1];
  let [y0, y1] = all.length ? span(all.map((p) => p[1]), how.logY) : [0, 1];
  if (how.range && all.length) [y0, y1] = span(how.range, false);
  if (how.zero) y0 = Math.min(y0, 0);
  const X = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
  const Y = (y) => height - bottom - ((Math.min(Math.max(y, y0), y1 + (y1 - y0)) - y0) / (y1 - y0)) * (height - top - bottom);
  frame(picture, { width, height, left, right, top, bottom, x0, x1, y0, y1, X, Y }, how, all.length > 0);
  const clip = shape("svg", { x: left, y: top - 3, width: width - left - right, height: height - top - bottom + 6,
    viewBox: `${left} ${top - 3} ${width - left - right} ${height - top - bottom + 6}`, style: "overflow:hidden" });
  picture.append(clip);
  if (how.here !== undefined && good(how.here, how.logX)) {
    const x = X(turn(how.here, how.logX));
    clip.append(shape("path", { d: `M${x} ${top}V${height - bottom}`, class: "here" }));
  }
  series.forEach((s, k) => {
    const at = points[k].map(([x, y]) => [X(x).toFixed(1), Y(y).toFixed(1)]);
    if (s.line !== false && at.length) {
      clip.append(shape("path", { d: `M${at.map((p) => p.join(" ")).join("L")}`, fill: "none", stroke: s.color, "stroke-width": 2 }));
    }
    if (s.marks || at.length === 1) {
      for (const [x, y] of at) clip.append(shape("circle", { cx: x, cy: y, r: 3.5, fill: s.line === false ? "none" : s.color, stroke: s.color, "stroke-width": 1.5 }));
    }
  });
  legend(picture, series, left);
}

function frame(picture, at, how, filled) {
  const { width, height, left, right, bottom, top } = at;
  picture.append(shape("path", { d: `M${left} ${top}V${height - bottom}H${width - right}`, class: "axis" }));
  picture.append(shape("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, how.x));
  const middle = (top + height - bottom) / 2;
  picture.append(shape("text", { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, how.y));
  if (!filled) return;
  for (const x of ticks(at.x0, at.x1, how.logX, 4)) {
    if (x < at.x0 || x > at.x1) continue;
    picture.append(shape("text", { x: at.X(x), y: height - bottom + 16, "text-anchor": "middle" }, label(x, how.logX)));
    picture.append(shape("path", { d: `M${at.X(x)} ${height - bottom}v4`, class: "axis" }));
  }
  for (const y of ticks(at.y0, at.y1, how.logY, 4)) {
    if (y < at.y0 || y > at.y1 || (how.whole && !Number.isInteger(y))) continue;
    picture.append(shape("text", { x: left - 6, y: at.Y(y) + 4, "text-anchor": "end" }, label(y, how.logY)));
    picture.append(shape("path", { d: `M${left} ${at.Y(y)}H${width - right}`, class: "grid" }));
  }
}

function legend(picture, series, left) {
  let x = left;
  for (const s of series.filter((one) => one.name)) {
    if (s.line !== false) picture.append(shape("path", { d: `M${x} 11h16`, stroke: s.color, "stroke-width": 2 }));
    else picture.append(shape("circle", { cx: x + 8, cy: 11, r: 3.5, fill: "none", stroke: s.color, "stroke-width": 1.5 }));
    picture.append(shape("text", { x: x + 21, y: 15 }, s.name));
    x += 34 + 7.2 * s.name.length;
  }
}
