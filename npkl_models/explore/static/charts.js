// Line charts as SVG: axes with their quantities, lines, hollow markers, a dashed line where one stands.

import { number, shape } from "/static/dom.js?token={{token}}";

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

// The words of ticks: as many decimals as tell them apart, powers of ten where numbers are long.
function labels(values, log) {
  if (log) {
    return values.map((value) => {
      if (Math.abs(value) <= 2) return number(10 ** value, 2);
      const power = Math.floor(value + 1e-9);
      return `${Math.round(10 ** (value - power))}e${power}`;
    });
  }
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : Math.abs(values[0]) || 1;
  const largest = Math.max(...values.map(Math.abs)), power = Math.floor(Math.log10(largest || 1));
  if (largest >= 1e5 || (largest > 0 && largest < 1e-3)) {
    const digits = Math.min(8, Math.max(0, power - Math.floor(Math.log10(step) + 1e-9)));
    return values.map((value) => (value === 0 ? "0" : `${(value / 10 ** power).toFixed(digits)}e${power}`));
  }
  const decimals = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return values.map((value) => value.toFixed(decimals));
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
  const right = 10, top = 10 + (series.some((s) => s.name) ? 18 : 0), bottom = 42;
  const turn = (value, log) => (log ? Math.log10(value) : value);
  const good = (value, log) => value !== null && Number.isFinite(value) && (!log || value > 0);
  const points = series.map((s) => s.x.map((x, k) => [x, s.y[k]])
    .filter(([x, y]) => good(x, how.logX) && good(y, how.logY)).map(([x, y]) => [turn(x, how.logX), turn(y, how.logY)]));
  const all = points.flat();
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": how.words ?? `${how.y} against ${how.x}` });
  place.replaceChildren(picture);
  const [x0, x1] = how.spanX ? span(how.spanX, false) : all.length ? span(all.map((p) => p[0]), how.logX) : [0, 1];
  let [y0, y1] = all.length ? span(all.map((p) => p[1]), how.logY) : [0, 1];
  if (how.range && all.length) [y0, y1] = span(how.range, false);
  if (how.zero) y0 = Math.min(y0, 0);
  const marks = {
    x: ticks(x0, x1, how.logX, 4).filter((x) => x >= x0 && x <= x1),
    y: ticks(y0, y1, how.logY, 4).filter((y) => y >= y0 && y <= y1 && !(how.whole && !Number.isInteger(y))),
  };
  const words = { x: labels(marks.x, how.logX), y: labels(marks.y, how.logY) };
  const left = 28 + 7.2 * Math.max(2, ...words.y.map((text) => text.length));
  const X = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
  const Y = (y) => height - bottom - ((Math.min(Math.max(y, y0), y1 + (y1 - y0)) - y0) / (y1 - y0)) * (height - top - bottom);
  frame(picture, { width, height, left, right, top, bottom, X, Y }, how, marks, words);
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

function frame(picture, at, how, marks, words) {
  const { width, height, left, right, bottom, top } = at;
  picture.append(shape("path", { d: `M${left} ${top}V${height - bottom}H${width - right}`, class: "axis" }));
  picture.append(shape("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, how.x));
  const middle = (top + height - bottom) / 2;
  picture.append(shape("text", { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, how.y));
  marks.x.forEach((x, k) => {
    picture.append(shape("text", { x: at.X(x), y: height - bottom + 16, "text-anchor": "middle" }, words.x[k]));
    picture.append(shape("path", { d: `M${at.X(x)} ${height - bottom}v4`, class: "axis" }));
  });
  marks.y.forEach((y, k) => {
    picture.append(shape("text", { x: left - 6, y: at.Y(y) + 4, "text-anchor": "end" }, words.y[k]));
    picture.append(shape("path", { d: `M${left} ${at.Y(y)}H${width - right}`, class: "grid" }));
  });
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
