// Draws the curves of the harvest view; the tables below it say the same.
import { uPlot } from "./vendor/uplot.js";

const HEIGHT = 250;
const charts = new Map();
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const DASHES = [[], [7, 4]]; // colours are not all that tells lines apart

function options(place, data) {
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
  return {
    width: place.clientWidth,
    height: HEIGHT,
    scales: { x: { time: false }, y: { range: [0, 1] } },
    legend: { live: place.clientWidth > 500 },
    cursor: { drag: { x: false, y: false } },
    axes: [{ ...axis, label: place.dataset.x, labelFont: axis.font, labelSize: 16, labelGap: 0 }, { ...axis, size: 44 }],
    series: [{ label: "fetch" }, ...data.series.map((one, at) => ({
      label: one.label,
      stroke: colour(`--series-${at}`),
      width: 2.2,
      dash: DASHES[at],
      spanGaps: true,
      points: { show: data.x.length < 3, size: 6 },
      value: (_, value) => (value === null || value === undefined ? "-" : value.toFixed(3)),
    }))],
  };
}

function drawAll() {
  const source = document.getElementById("curves")?.textContent;
  if (!source) return;
  const all = JSON.parse(source);
  for (const place of document.querySelectorAll("[data-chart]")) {
    const data = all[place.dataset.chart];
    charts.get(place)?.destroy();
    charts.delete(place);
    if (!data.x.length || !data.series.length) {
      place.replaceChildren(Object.assign(document.createElement("p"), { className: "empty", textContent: "Not enough fetches yet." }));
      continue;
    }
    place.replaceChildren();
    charts.set(place, new uPlot(options(place, data), [data.x, ...data.series.map((one) => one.values)], place));
  }
}

drawAll();
document.addEventListener("refreshed", drawAll);
document.addEventListener("painted", drawAll);
let width = document.body.clientWidth;
new ResizeObserver(() => {
  if (Math.abs(document.body.clientWidth - width) > 20) { width = document.body.clientWidth; drawAll(); }
}).observe(document.body);
