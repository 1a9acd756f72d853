// Draws the site map: templates as circles, links between them as arrows.
import { load } from "./console.js";
import { cytoscape } from "./vendor/cytoscape.js";

const frame = document.getElementById("map");
const detail = document.getElementById("detail");
const everything = document.getElementById("all-edges");
const LEVELS = 5; // shades of reward, as in the legend
const NARROW = { width: 600, high: 120 }; // a phone: narrower than so much, and a row of templates so high
const CELL = { wide: 165, high: 92 }; // room of a template and its label, pixels at zoom 1

let graph = null;
let drawn = "";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const isNarrow = () => frame.clientWidth < NARROW.width;
const level = (reward) => (reward === null ? "none" : String(Math.min(LEVELS - 1, Math.floor(reward * LEVELS))));

function elements({ nodes, edges }) {
  const most = Math.max(1, ...nodes.map((node) => node.pages));
  const circles = nodes.map((node) => ({
    data: { ...node, size: 26 + 54 * Math.sqrt(node.pages / most), level: level(node.reward) },
    classes: node.entry ? "entry" : "",
  }));
  const links = Math.max(1, ...edges.map((edge) => edge.links));
  const best = strongest(edges);
  const arrows = edges.map((edge, at) => ({
    data: { ...edge, id: `edge-${at}`, width: 1 + 4 * Math.sqrt(edge.links / links), name: edge.label },
    classes: [
      edge.pagination && "pagination", best.has(edge) && "tree",
      best.has(edge) || edge.pagination || "faint",
    ].filter((one) => typeof one === "string").join(" "),
  }));
  return [...circles, ...arrows];
}

/** The links by which most of each template is found: one arrow a template, so that many can be read. */
function strongest(edges) {
  const best = new Map();
  for (const edge of edges) {
    if (edge.source === edge.target) continue;
    const known = best.get(edge.target);
    if (!known || edge.links * edge.prob > known.links * known.prob) best.set(edge.target, edge);
  }
  return new Set(best.values());
}

function style() {
  const text = colour("--text"), faint = colour("--faint"), line = colour("--line-strong"), page = colour("--card");
  return [
    { selector: "node", style: {
      width: "data(size)", height: "data(size)", label: "data(label)", "text-wrap": "wrap", "text-valign": "bottom",
      "text-margin-y": 5, "font-size": 12, "font-family": "system-ui, sans-serif", color: text,
      "text-background-color": page, "text-background-opacity": 0.85, "text-background-padding": 2,
      "border-width": 1.5, "border-color": line, "background-color": colour("--reward-none"),
    } },
    ...[0, 1, 2, 3, 4].map((n) => ({ selector: `node[level = "${n}"]`, style: { "background-color": colour(`--reward-${n}`) } })),
    { selector: "node.entry", style: { "border-width": 5, "border-style": "double", "border-color": colour("--accent") } },
    { selector: "node:selected", style: { "overlay-color": colour("--accent"), "overlay-opacity": 0.18, "overlay-padding": 6 } },
    { selector: "edge", style: {
      width: "data(width)", "line-color": line, "target-arrow-color": line, "target-arrow-shape": "triangle",
      "arrow-scale": 1.1, "curve-style": "bezier", "font-size": 10, color: faint,
      "text-background-color": page, "text-background-opacity": 0.9, "text-background-padding": 2,
      "text-rotation": "autorotate", "loop-direction": "-45deg", "loop-sweep": "50deg", "control-point-step-size": 55,
    } },
    { selector: "edge:loop", style: { "text-rotation": "none" } },
    { selector: "edge.faint", style: { display: everything.checked ? "element" : "none", opacity: 0.6 } },
    { selector: "edge.pagination", style: { "line-style": "dashed", "line-color": colour("--accent"), "target-arrow-color": colour("--accent") } },
    { selector: "node.away, edge.away", style: { opacity: 0.15 } },
    { selector: "edge.near", style: { display: "element", label: "data(name)", opacity: 1, "line-color": colour("--accent"), "target-arrow-color": colour("--accent"), color: text } },
  ];
}

function draw() {
  const source = document.getElementById("graph")?.textContent ?? "";
  if (!source || source === drawn) return;
  const first = !graph;
  const made = elements(JSON.parse(source));
  drawn = source;
  if (first) {
    graph = cytoscape({ container: frame, style: style(), minZoom: 0.15, maxZoom: 3, autoungrabify: true, boxSelectionEnabled: false, userZoomingEnabled: true });
    graph.on("tap", "node", ({ target }) => show(target));
    graph.on("tap", ({ target }) => { if (target === graph) hide(); });
    frame.dataset.ready = "yes";
  }
  const known = new Set(graph.nodes().map((node) => node.id()));
  const same = known.size === made.filter((one) => !one.data.source).length && made.every((one) => one.data.source || known.has(one.data.id));
  const places = new Map(graph.nodes().map((node) => [node.id(), { ...node.position() }]));
  graph.elements().remove();
  graph.add(made);
  if (same) graph.nodes().forEach((node) => node.position(places.get(node.id())));
  else arrange();
}

/** Templates stand in layers: how many links they are from the entry, by the strongest way; a layer may take several columns. */
function layers() {
  const depth = new Map();
  const roots = graph.nodes().filter((node) => node.data("entry") || !node.incomers("edge.tree").length);
  let layer = [...roots];
  for (let at = 0; layer.length; at += 1) {
    layer.forEach((node) => depth.set(node.id(), at));
    layer = [...new Set(layer.flatMap((node) => [...node.outgoers("edge.tree").targets()]))].filter((node) => !depth.has(node.id()));
  }
  const found = [];
  for (const node of [...graph.nodes()].sort((one, other) => other.data("pages") - one.data("pages"))) {
    (found[depth.get(node.id()) ?? 0] ??= []).push(node);
  }
  return found.filter(Boolean);
}

/** Fill the frame with columns of layers, as few rows each as let everything be largest; on a phone they lie as rows. */
function columns() {
  const all = layers();
  const count = (rows) => all.reduce((sum, layer) => sum + Math.ceil(layer.length / rows), 0);
  const lie = isNarrow(), across = frame.clientWidth / CELL.wide, high = lie ? NARROW.high : CELL.high, down = frame.clientHeight / high;
  const zoom = (rows) => Math.min((lie ? down : across) / count(rows), (lie ? across : down) / rows);
  const rows = [...Array(graph.nodes().length).keys()].map((at) => at + 1).reduce((best, one) => (zoom(one) > zoom(best) ? one : best), 1);
  let x = 0;
  for (const layer of all) {
    const parts = Math.ceil(layer.length / rows), deep = Math.ceil(layer.length / parts);
    layer.forEach((node, at) => {
      const column = Math.floor(at / deep), here = Math.min(deep, layer.length - column * deep);
      const along = x + column, aside = (at % deep) - (here - 1) / 2;
      node.position({ x: (lie ? aside : along) * CELL.wide, y: (lie ? along : aside) * high });
    });
    x += parts;
  }
}

function arrange() {
  columns();
  graph.fit(undefined, 26);
  if (graph.zoom() > 1.3) { graph.zoom(1.3); graph.center(); }
}

async function show(node) {
  const around = node.closedNeighborhood();
  graph.elements().removeClass("away near");
  graph.elements().not(around).addClass("away");
  node.connectedEdges().addClass("near");
  const { status, page } = await load(node.data("href")).catch(() => ({ status: 0 }));
  const article = status === 200 && page.getElementById("template");
  const close = Object.assign(document.createElement("button"), { type: "button", textContent: "Close", className: "quiet close" });
  close.addEventListener("click", hide);
  detail.replaceChildren(close, article || Object.assign(document.createElement("p"), { textContent: "It could not be read." }));
  detail.hidden = false;
}

function hide() {
  graph.elements().removeClass("away near");
  detail.hidden = true;
}

function repaint() {
  if (graph) graph.style(style());
}

// A site that was learned while one looked: the page has a map now.
if (!frame) document.addEventListener("refreshed", () => { if (document.getElementById("graph")) location.reload(); });

if (frame) {
  draw();
  document.addEventListener("refreshed", draw);
  document.addEventListener("painted", repaint);
  everything.addEventListener("change", repaint);
  document.getElementById("fit").addEventListener("click", () => { hide(); arrange(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !detail.hidden) hide(); });
  let width = frame.clientWidth;
  new ResizeObserver(() => {
    if (graph && Math.abs(frame.clientWidth - width) > 40) { width = frame.clientWidth; graph.resize(); drawn = ""; draw(); arrange(); }
  }).observe(frame);
}
