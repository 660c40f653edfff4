"use strict";
{
const AROUND = 0.37;      // of the distance of two ticks, what points beside each other take
const MANY = 60;          // places along the axis, of which no point is marked any more
const NEAR = 40;          // pixels from the pointer
const dashes = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
const dark = matchMedia("(prefers-color-scheme: dark)");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const text = (number) => Number(number.toPrecision(4)).toString();

for (const section of document.querySelectorAll(".draw")) {
const {quantities, names, points, linux, stops, seed} = JSON.parse(section.querySelector("script").textContent);
const form = section.querySelector("form"), place = section.querySelector(".plot"), pointed = section.querySelector("output");
const VALUE = names.length + 1;
let plot;

function chosen() {
  const off = names.map((_, i) => new Set([...form.querySelectorAll(`[name=n${i}]:not(:checked)`)].map((one) => +one.value)));
  const quantity = form.elements.quantity.selectedIndex;
  return points.filter((one) => one[0] === quantity && off.every((of, i) => !of.has(one[i + 1])));
}

function stop() {        // the value of the slider that alone is shown; undefined: all are
  const slider = form.elements.linux, of = slider && stops[slider.value - 1];
  const text = of === undefined ? "all" : names[linux].values[of];
  if (slider) section.querySelector(".stop").textContent = text;
  slider?.setAttribute("aria-valuetext", text);
  return of;
}

function draw() {
  const along = +form.elements.along.value, log = form.elements.log.checked, only = stop();
  const every = chosen().filter((one) => !log || one[VALUE] > 0);
  const shown = every.filter((one) => only === undefined || one[linux + 1] === only || !stops.includes(one[linux + 1]));
  const colored = names.findIndex((of, i) => of.colors.length && i !== along);
  const numeric = names[along].values.every((value) => value.trim() !== "" && isFinite(value));
  const ids = names.map((_, i) => i).filter((i) => (i !== seed || (numeric && along !== seed)) &&
    (i === colored || (i !== along && new Set(shown.map((one) => one[i + 1])).size > 1)));
  const ticks = [...new Set(shown.map((one) => one[along + 1]))].sort((a, b) => a - b).map((i) => names[along].values[i]);
  const scale = ticks.length > 1 && numeric && along !== seed;
  const series = new Map();
  for (const one of shown) {
    const key = ids.map((i) => names[i].values[one[i + 1]]).join(", ");
    if (!series.has(key)) series.set(key, []);
    series.get(key).push(one);
  }
  const rank = ([, [one]]) => ids.reduce((sum, i) => 100 * sum + one[i + 1], 0);
  const lines = [...series.entries()].sort((a, b) => rank(a) - rank(b)), used = {}, side = lines.length;
  const looks = lines.map(([, of]) => {
    const own = colored < 0 ? null : names[colored].colors[of[0][colored + 1]][+dark.matches];
    const color = own || ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"][lines.findIndex((one) => one[1] === of) % 6];
    used[color] = (used[color] ?? -1) + 1;
    return {color, nth: used[color]};
  });
  const seeds = ids.includes(seed) || seed === undefined || along === seed ? 1 : names[seed].values.length;
  const placed = lines.map(([key, of], k) => of.map((one) => {
    const name = names[along].values[one[along + 1]], [value, low = null, high = null] = one.slice(VALUE);
    const nth = seeds > 1 ? (one[seed + 1] + 0.5) / seeds : 0.5;
    const beside = side * seeds > 1 ? AROUND * (2 * (k % side + nth) / side - 1) : 0;
    const run = seeds > 1 ? `, seed ${names[seed].values[one[seed + 1]]}` : "";
    return {x: scale ? +name : ticks.indexOf(name) + beside, value, low, high, text: `${key ? key + ", " : ""}${name}${run}`};
  }).sort((a, b) => a.x - b.x));
  const xs = [...new Set(placed.flat().map((one) => one.x))].sort((a, b) => a - b);
  const data = [xs, ...placed.map((of) => xs.map((x) => of.find((one) => one.x === x)?.value ?? null))];
  const dense = scale && xs.length > MANY;
  const ends = every.flatMap((one) => dense ? [one[VALUE]] : one.slice(VALUE)).filter((end) => !log || end > 0);
  const [least, most] = ends.reduce(([a, b], end) => [Math.min(a, end), Math.max(b, end)], [Infinity, -Infinity]);
  const range = log ? [least / 1.3, most * 1.3] : [every.every((one) => one[VALUE] >= 0) ? 0 : 1.05 * least, Math.max(0, 1.05 * most) || 1];
  const ink = css("--ink"), grid = {stroke: css("--line"), width: 1};
  const parts = ticks.map((tick) => String(tick).split(/(?<=,) /)), high = Math.max(1, ...parts.map((of) => of.length));
  const widths = parts.map((of) => Math.max(...of.map((line) => line.length))), wide = Math.max(0, ...widths);
  const turned = !scale && wide * ticks.length * 7 > place.clientWidth - 100;
  const font = "12px system-ui, sans-serif";
  const axis = (label, more) => ({label, stroke: ink, grid, ticks: grid, font, labelFont: font, ...more});
  const options = {
    width: place.clientWidth, height: 420, legend: {live: false},
    cursor: {y: false, drag: {x: scale, y: false}, points: {show: false}},
    scales: {
      x: {time: false, distr: scale && xs[0] > 0 && xs.at(-1) > 30 * xs[0] ? 3 : 1,
          ...(scale ? {} : {range: [-0.6, ticks.length - 0.4]})},
      y: {distr: log ? 3 : 1, range},
    },
    axes: [
      axis(names[along].label, scale ? {} : {
        splits: ticks.map((_, i) => i), values: parts.map((of) => of.join("\n")), rotate: turned ? 35 : 0,
        size: turned ? Math.min(150, 25 + 4.5 * wide) : 22 + 18 * high, grid: {show: false},
      }),
      axis(quantities[form.elements.quantity.selectedIndex], {size: 70}),
    ],
    series: [{}, ...lines.map(([key], k) => ({
      label: key || quantities[form.elements.quantity.selectedIndex], stroke: looks[k].color, width: 1.5,
      dash: dashes[looks[k].nth % dashes.length], spanGaps: true, ...(scale ? {} : {paths: () => null}),
      points: {show: !dense, size: 9, width: 1.5, fill: looks[k].nth ? css("--page") : looks[k].color},
    }))],
    hooks: {
      drawSeries: [(u, k) => {
        u.ctx.save();
        u.ctx.strokeStyle = looks[k - 1].color;
        for (const one of u.series[k].show ? placed[k - 1] : []) {
          if (one.low === null) continue;
          const x = u.valToPos(one.x, "x", true);
          const [from, to] = [one.low, one.high].map((end) => Math.min(range[1], Math.max(range[0], end)));
          u.ctx.lineWidth = (dense ? 3 : 1.5) * devicePixelRatio;
          u.ctx.globalAlpha = dense ? 0.15 : 1;
          u.ctx.setLineDash([]);
          u.ctx.beginPath();
          u.ctx.moveTo(x, u.valToPos(from, "y", true));
          u.ctx.lineTo(x, u.valToPos(to, "y", true));
          u.ctx.stroke();
        }
        u.ctx.restore();
      }],
      setCursor: [(u) => {
        let best = null, reach = NEAR;
        placed.forEach((of, k) => u.series[k + 1].show && of.forEach((one) => {
          const off = Math.hypot(u.valToPos(one.x, "x") - u.cursor.left, u.valToPos(one.value, "y") - u.cursor.top);
          if (off < reach) [best, reach] = [one, off];
        }));
        const interval = best?.low != null ? ` (${text(best.low)} to ${text(best.high)})` : "";
        pointed.textContent = best ? `${best.text}: ${text(best.value)}${interval}` : "Point at a value.";
      }],
    },
  };
  plot?.destroy();
  plot = shown.length ? new uPlot(options, data, place) : null;
  if (!plot) pointed.textContent = "Nothing chosen.";
}

form.addEventListener("input", draw);
form.addEventListener("click", (event) => {
  const boxes = event.target.matches("button") ? [...event.target.closest("fieldset").querySelectorAll("input")] : [];
  const on = boxes.some((box) => !box.checked);
  for (const box of boxes) box.checked = on;
  if (boxes.length) draw();
});
form.addEventListener("submit", (event) => event.preventDefault());
dark.addEventListener("change", draw);
section.hidden = false;
draw();
let width = place.clientWidth;
new ResizeObserver(() => { if (place.clientWidth !== width) { width = place.clientWidth; draw(); } }).observe(place);
}
}
