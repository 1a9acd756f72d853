"use strict";
const all = (what, where = document) => [...where.querySelectorAll(what)];
const make = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

// Tables: a click on a heading sorts, numbers from the highest, then from the lowest.
for (const table of all("table.sortable")) {
  const heads = all("thead th", table);
  heads.forEach((head, column) => {
    head.replaceChildren(make("button", { type: "button" }, ...head.childNodes));
    head.firstChild.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === (column ? "descending" : null);
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.children[column];
        return column ? Number(cell.dataset.v ?? NaN) : Number(row.dataset.p);
      };
      const body = table.tBodies[0];
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return up ? x - y : y - x;
      });
      body.append(...rows);
    });
  });
}

// Policies: a button hides one everywhere.
const bar = document.getElementById("policies");
const names = new Map();
for (const row of all("tr[data-p]")) if (!names.has(row.dataset.p)) names.set(row.dataset.p, row.querySelector(".mark"));
for (const number of [...names.keys()].sort((a, b) => a - b)) {
  const label = names.get(number).cloneNode(true);
  const name = label.querySelector(".name");
  name.replaceChildren(name.textContent);
  const button = make("button", { type: "button", "aria-pressed": "true", title: `show or hide ${name.textContent}` }, label);
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(shown));
    for (const each of all(`main [data-p="${number}"]`)) each.toggleAttribute("hidden", !shown);
  });
  bar.append(button);
}

// Charts: pointing at a policy fades the others.
for (const section of all("section")) {
  const plot = section.querySelector(".plot");
  if (!plot) continue;
  const light = (number) => {
    plot.classList.toggle("faded", number !== undefined);
    for (const each of all("[data-p]", plot)) each.classList.toggle("lit", each.dataset.p === number);
  };
  for (const each of all("tr[data-p], .ends span", section)) {
    each.addEventListener("pointerenter", () => light(each.dataset.p));
    each.addEventListener("pointerleave", () => light());
  }
  readOff(plot);
}

// Charts: a pointer over the curves reads them off.
function readOff(plot) {
  const drawing = plot.querySelector("svg");
  const [xMax, yMax] = [Number(drawing.dataset.x), Number(drawing.dataset.y)];
  const curves = all(".s", drawing).map((node) => {
    const steps = node.querySelector(".line").getAttribute("d").match(/-?\d+/g).map(Number);
    const points = [[steps[0], steps[1]]];
    for (let i = 2; i < steps.length; i += 2) {
      const last = points[points.length - 1];
      points.push([last[0] + steps[i], last[1] + steps[i + 1]]);
    }
    return { node, points, name: node.querySelector("title").textContent, style: node.getAttribute("class") };
  });
  const at = (points, x) => {
    const i = points.findIndex((point) => point[0] >= x);
    if (i < 0) return points[points.length - 1][1];
    if (i === 0) return points[0][1];
    const [a, b] = [points[i - 1], points[i]];
    return b[0] === a[0] ? b[1] : a[1] + ((b[1] - a[1]) * (x - a[0])) / (b[0] - a[0]);
  };
  const [cross, tip] = [make("div", { class: "cross", hidden: "" }), make("div", { class: "tip", hidden: "" })];
  plot.append(cross, tip);
  drawing.addEventListener("pointermove", (event) => {
    const [inner, outer] = [drawing.getBoundingClientRect(), plot.getBoundingClientRect()];
    const share = Math.min(1, Math.max(0, (event.clientX - inner.left) / inner.width));
    const values = curves
      .filter((curve) => !curve.node.hasAttribute("hidden"))
      .map((curve) => [((1000 - at(curve.points, share * 1000)) / 1000) * yMax, curve])
      .sort((a, b) => b[0] - a[0]);
    const row = ([value, curve]) =>
      make("div", { class: curve.style.replace("s ", "") }, make("span", {}, `${curve.node.dataset.p} ${curve.name}`), make("b", {}, Math.round(value).toLocaleString("en")));
    tip.replaceChildren(make("b", {}, `after ${Math.round(share * xMax).toLocaleString("en")} fetches`), ...values.map(row));
    const x = inner.left - outer.left + share * inner.width;
    cross.style.left = `${x}px`;
    cross.hidden = tip.hidden = false;
    tip.style.left = `${share < 0.5 ? x + 12 : x - 12 - tip.offsetWidth}px`;
  });
  drawing.addEventListener("pointerleave", () => {
    cross.hidden = tip.hidden = true;
  });
}
