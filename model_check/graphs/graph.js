"use strict";
// Shows the state graph of this page: see page.py for what its fields mean. Texts become text nodes, never HTML.

const doc = JSON.parse(document.getElementById("document").textContent);
const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 40;
const FAR = 0.42; // Below this scale labels cannot be read, and are left out.
const MOST_LISTED = 40;

function put(parent, name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  if (parent) parent.append(made);
  return made;
}
function draw(parent, name, attributes, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  parent.append(made);
  return made;
}
const count = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

// What is known.

const nodes = new Map(doc.nodes.map((node) => [node.id, node]));
const leaving = new Map(doc.nodes.map((node) => [node.id, []]));
const entering = new Map(doc.nodes.map((node) => [node.id, []]));
for (const edge of doc.edges) {
  leaving.get(edge.source).push(edge);
  entering.get(edge.target).push(edge);
}
const first = doc.nodes.find((node) => node.initial) ?? doc.nodes[0];
const spokenName = (node) =>
  [node.label, count(node.states, "state"), node.initial ? "initial" : "", node.violates.length ? `violates ${node.violates.join(", ")}` : ""]
    .filter(Boolean)
    .join("; ");
let chosen = null;

// The page.

const body = document.body;
const top_ = put(body, "header");
put(top_, "h1", {}, doc.title);
put(
  top_,
  "p",
  { class: "note" },
  `${count(doc.states, "state")} as ${count(doc.nodes.length, "node")} and ${count(doc.edges.length, "edge")}; shown: ${doc.projection}`,
);
const bar = put(put(body, "nav", { "aria-label": "Picture" }), "div", { class: "bar", role: "toolbar", "aria-label": "Zoom and search" });
const button = (label, text, press) => put(bar, "button", { type: "button", "aria-label": label, title: label, onclick: press }, text);
button("Zoom in (+)", "+", () => zoom(1.4));
button("Zoom out (-)", "−", () => zoom(1 / 1.4));
button("Fit to the window (f)", "Fit", fit);
button("What makes the states (Escape)", "Overview", () => choose(null));
const search = put(bar, "input", { type: "search", placeholder: "Search (/)", "aria-label": "Search in nodes" });
const found = put(bar, "output", { class: "found" });
button("Light or dark (t)", "◐", changeTheme);
const main = put(body, "main", { class: "graph" });
const plane = put(main, "div", { class: "plane" });
const svg = draw(plane, "svg", { role: "group", "aria-label": "State graph; arrow keys go from node to node" });
const world = draw(svg, "g", {});
const detail = put(main, "section", { class: "detail", tabindex: 0, "aria-label": "The chosen node" });
const spoken = put(body, "div", { class: "spoken", "aria-live": "polite" });

// The picture.

const marker = draw(draw(svg, "defs", {}), "marker", { id: "tip", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto", markerUnits: "userSpaceOnUse" });
draw(marker, "path", { d: "M0,0 L8,4 L0,8 z", class: "tip" });
// Edges and the texts of nodes become elements when they are first in sight; from afar all edges are two paths.
const wires = draw(world, "g", {});
const afar = ["edge", "edge back"].map((kind) => draw(wires, "path", { class: `${kind} afar`, d: doc.edges.filter((edge) => kindOf(edge) === kind).map(curveOf).join("") }));
const drawnEdges = new Map(); // By index.
const marked = new Map(); // By index the classes of the edges of the chosen node, which are always drawn.
function kindOf(edge) {
  return nodes.get(edge.source).level < nodes.get(edge.target).level ? "edge" : "edge back";
}
function curveOf(edge) {
  return curve(nodes.get(edge.source), nodes.get(edge.target));
}
function showEdge(index, shown) {
  let path = drawnEdges.get(index);
  if (path === undefined) {
    if (!shown) return;
    path = draw(wires, "path", { d: curveOf(doc.edges[index]), "marker-end": "url(#tip)" });
    drawnEdges.set(index, path);
  }
  path.style.display = shown ? "" : "none";
  path.setAttribute("class", `${kindOf(doc.edges[index])} ${marked.get(index) ?? ""}`.trim());
}
function curve(a, b) {
  const [ax, ay, aw, ah] = a.box;
  const [bx, by, bw, bh] = b.box;
  const [y, z] = [ay + ah / 2, by + bh / 2];
  if (a === b) return `M${ax + aw - 30},${ay} C${ax + aw - 30},${ay - 34} ${ax + aw + 4},${ay - 34} ${ax + aw},${ay + 12}`;
  if (bx >= ax + aw) {
    const bend = Math.min(140, (bx - ax - aw) / 2);
    return `M${ax + aw},${y} C${ax + aw + bend},${y} ${bx - bend},${z} ${bx},${z}`;
  }
  if (bx + bw <= ax) return `M${ax},${y} C${ax - 70},${y + 40} ${bx + bw + 70},${z + 40} ${bx + bw},${z}`;
  return `M${ax + aw},${y} C${ax + aw + 60},${y} ${bx + bw + 60},${z} ${bx + bw},${z}`;
}
const drawnNodes = new Map();
for (const node of doc.nodes) {
  const [x, y, width, height] = node.box;
  const group = draw(world, "g", { transform: `translate(${x},${y})`, tabindex: node === first ? 0 : -1, role: "button", "aria-label": spokenName(node), "data-node": node.id });
  group.classList.add("node");
  if (node.initial) group.classList.add("initial");
  if (node.violates.length) group.classList.add("violates");
  draw(group, "rect", { width, height, rx: 7 });
  drawnNodes.set(node.id, group);
}
function write(node, group) {
  node.lines.forEach((line, index) => {
    const role = doc.roles.find((each) => line.split(" ").includes(each));
    draw(group, "text", { x: 10, y: 22 + 17 * index, ...(role ? { class: role } : {}) }, line);
  });
  const marks = [count(node.states, "state"), node.violates.length ? "violates" : node.initial ? "initial" : ""].filter(Boolean).join(", ");
  draw(group, "text", { x: 10, y: 22 + 17 * node.lines.length, class: "count" }, marks);
}

// Where the picture stands: (x, y) of the plane is (x * scale + left, y * scale + top) of the window.

const view = { left: 0, top: 0, scale: 1 };
const whole = doc.nodes.reduce(
  (all, { box: [x, y, width, height] }) => ({ x: Math.min(all.x, x), y: Math.min(all.y, y), right: Math.max(all.right, x + width), bottom: Math.max(all.bottom, y + height) }),
  { x: Infinity, y: Infinity, right: -Infinity, bottom: -Infinity },
);
function show() {
  world.setAttribute("transform", `translate(${view.left},${view.top}) scale(${view.scale})`);
  const far = view.scale < FAR;
  svg.classList.toggle("far", far);
  cancelAnimationFrame(culling);
  culling = requestAnimationFrame(() => cull(far));
}
let culling = 0;
// Only what is in sight, and some room around it, is drawn; from afar everything is, without texts.
function cull(far) {
  const around = 200 / view.scale;
  const [left, top] = [-view.left / view.scale - around, -view.top / view.scale - around];
  const [right, bottom] = [left + plane.clientWidth / view.scale + 2 * around, top + plane.clientHeight / view.scale + 2 * around];
  const inSight = (x, y, toX, toY) => x < right && y < bottom && toX > left && toY > top;
  for (const [id, group] of drawnNodes) {
    const node = nodes.get(id);
    const [x, y, width, height] = node.box;
    const near = inSight(x, y, x + width, y + height);
    group.style.display = far || near || group.getAttribute("tabindex") === "0" ? "" : "none";
    if (!far && near && group.childElementCount === 1) write(node, group);
  }
  for (const path of afar) {
    path.style.display = far ? "" : "none";
    path.setAttribute("stroke-width", 1 / view.scale);
  }
  doc.edges.forEach((edge, index) => {
    const [[ax, ay, aw, ah], [bx, by, bw, bh]] = [nodes.get(edge.source).box, nodes.get(edge.target).box];
    const crosses = inSight(Math.min(ax, bx) - 70, Math.min(ay, by) - 40, Math.max(ax + aw, bx + bw) + 70, Math.max(ay + ah, by + bh) + 40);
    showEdge(index, marked.has(index) || (!far && crosses));
  });
}
function fit() {
  const { clientWidth, clientHeight } = plane;
  const [width, height] = [whole.right - whole.x, whole.bottom - whole.y];
  view.scale = Math.min(1.2, Math.max(0.02, Math.min((clientWidth - MARGIN) / width, (clientHeight - MARGIN) / height)));
  view.left = (clientWidth - width * view.scale) / 2 - whole.x * view.scale;
  view.top = (clientHeight - height * view.scale) / 2 - whole.y * view.scale;
  show();
}
function zoom(factor, x = plane.clientWidth / 2, y = plane.clientHeight / 2) {
  const scale = Math.min(4, Math.max(0.02, view.scale * factor));
  view.left = x - ((x - view.left) * scale) / view.scale;
  view.top = y - ((y - view.top) * scale) / view.scale;
  view.scale = scale;
  show();
}
function reveal(node) {
  const [x, y, width, height] = node.box;
  if (view.scale < 0.7) view.scale = 0.7;
  const at = { left: x * view.scale + view.left, top: y * view.scale + view.top };
  if (at.left < 0 || at.top < 0 || at.left + width * view.scale > plane.clientWidth || at.top + height * view.scale > plane.clientHeight) {
    view.left = plane.clientWidth / 2 - (x + width / 2) * view.scale;
    view.top = plane.clientHeight / 2 - (y + height / 2) * view.scale;
  }
  show();
}
svg.addEventListener("wheel", (event) => {
  event.preventDefault();
  const at = plane.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - at.left, event.clientY - at.top);
}, { passive: false });
// One pointer moves the picture, two zoom it.
const pointers = new Map();
let moved = 0;
svg.addEventListener("pointerdown", (event) => {
  pointers.set(event.pointerId, event);
  if (pointers.size === 1) moved = 0;
});
window.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
  moved += Math.abs(dx) + Math.abs(dy);
  pointers.set(event.pointerId, event);
  if (pointers.size === 1) {
    view.left += dx;
    view.top += dy;
    show();
    return;
  }
  const other = [...pointers.values()].find((each) => each.pointerId !== event.pointerId);
  const apart = (each) => Math.hypot(each.clientX - other.clientX, each.clientY - other.clientY) || 1;
  const at = plane.getBoundingClientRect();
  zoom(apart(event) / apart(before), (event.clientX + other.clientX) / 2 - at.left, (event.clientY + other.clientY) / 2 - at.top);
});
for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, (event) => pointers.delete(event.pointerId));
svg.addEventListener("click", (event) => {
  const group = event.target.closest(".node");
  if (moved < 6) choose(group === null ? null : nodeOf(group));
});
const nodeOf = (group) => doc.nodes.find((node) => drawnNodes.get(node.id) === group);

// The chosen node.

function choose(node, { focus = false } = {}) {
  chosen = node;
  const onPath = new Set();
  if (node) {
    let before = doc.nodes.find((each) => each.initial && each.id === node.start);
    for (const [, then] of node.steps) {
      if (before && before.id !== then) onPath.add(`${before.id}>${then}`);
      before = nodes.get(then);
    }
  }
  marked.clear();
  doc.edges.forEach((edge, index) => {
    const kinds = [];
    if (node !== null && edge.source === node.id) kinds.push("out");
    if (node !== null && edge.target === node.id && edge.source !== node.id) kinds.push("in");
    if (onPath.has(`${edge.source}>${edge.target}`)) kinds.push("path");
    if (kinds.length) marked.set(index, kinds.join(" "));
  });
  for (const [id, group] of drawnNodes) {
    const is = node !== null && id === node.id;
    group.classList.toggle("chosen", is);
    group.setAttribute("tabindex", is || (node === null && id === first.id) ? 0 : -1);
  }
  history.replaceState(null, "", node ? `#node=${node.id}` : "#");
  if (node) {
    reveal(node);
    if (focus) drawnNodes.get(node.id).focus({ preventScroll: true });
    spoken.textContent = spokenName(node);
  }
  else show();
  describe();
}
function link(parent, id) {
  const node = nodes.get(id);
  return put(parent, "button", { type: "button", class: "link", onclick: () => choose(node, { focus: true }) }, node.label);
}
function describe() {
  detail.replaceChildren();
  detail.scrollTop = 0;
  if (chosen === null) return overview();
  const node = chosen;
  put(detail, "h2", {}, node.label);
  if (node.violates.length) put(detail, "p", { class: "violates" }, `Violates ${node.violates.join(", ")}`);
  const inside = node.internal ? `; ${count(node.internal, "step")} within` : "";
  put(detail, "p", {}, `${count(node.states, "state")}${inside}${node.initial ? "; initial" : ""}; ${count(node.level, "step")} away`);
  put(detail, "h3", {}, "A shortest path");
  if (node.path !== null) put(detail, "pre", {}, `kraftcheck trace show ${doc.scenario} --path ${node.path}`);
  if (node.steps.length) {
    const list = put(detail, "ol");
    let before = node.start;
    for (const [name, then] of node.steps) {
      const item = put(list, "li", {}, doc.names[name]);
      if (then !== before && then !== node.id) link(put(item, "div"), then);
      before = then;
    }
  } else put(detail, "p", { class: "note" }, "It is where the exploration begins.");
  edgeList("Steps from here", leaving.get(node.id), "target");
  edgeList("Steps to here", entering.get(node.id).filter((edge) => edge.source !== node.id), "source");
  put(detail, "h3", {}, node.states > node.samples.length ? `${node.samples.length} of its states` : "Its states");
  for (const lines of node.samples) put(detail, "pre", {}, lines.join("\n"));
}
function edgeList(heading, edges, end) {
  put(detail, "h3", {}, `${heading}: ${edges.reduce((sum, edge) => sum + edge.steps, 0).toLocaleString("en")}`);
  if (!edges.length) put(detail, "p", { class: "note" }, "None.");
  const list = put(detail, "ul", { class: "plain" });
  const ranked = [...edges].sort((a, b) => b.steps - a.steps);
  for (const edge of ranked.slice(0, MOST_LISTED)) {
    const item = put(list, "li");
    link(item, edge[end]);
    const said = edge.actions.map(([name, times]) => (times > 1 ? `${name} ×${times.toLocaleString("en")}` : name));
    put(item, "div", { class: "note" }, said.join("; ") + (edge.more ? `; and ${edge.more} other actions` : ""));
  }
  if (ranked.length > MOST_LISTED) put(detail, "p", { class: "note" }, `and ${ranked.length - MOST_LISTED} other nodes`);
}

// Without a chosen node: what makes the states.

function overview() {
  const { growth } = doc;
  put(detail, "p", {}, doc.about);
  put(detail, "p", { class: "note" }, "Choose a node to see its states, its steps and a path to it; zoom in to read the nodes. Thick border: initial; dashed red: a property is violated; dashed edges lead back. Drag or Shift and arrows move, wheel or + and - zoom, arrows go along edges, f fits, / searches, Escape leaves.");
  put(detail, "h2", {}, "What to cut first");
  if (growth.budgets.length + growth.bounds.length)
    table(["Budget or bound", "States left", "Fewer states"], [...growth.budgets, ...growth.bounds].map((each) => [`${each.name} ${each.value} → ${each.less}`, each.without, each.without === null ? null : growth.states - each.without]), growth.states);
  else put(detail, "p", { class: "note" }, "The scenario has no budgets.");
  put(detail, "h2", {}, "States that need an action");
  const needed = growth.actions.map((each) => [each.name, growth.states - each.without, growth.states - each.without]).filter((each) => each[1]);
  table(["Action", "States", "Share"], needed, growth.states);
  put(detail, "h2", {}, "New states by level");
  table(["Steps away", "States", ""], growth.levels.map((states, level) => [level, states, states]), Math.max(...growth.levels));
}
function table(heads, rows, most) {
  const made = put(put(detail, "div", { class: "frame" }), "table");
  const head = put(put(made, "thead"), "tr");
  for (const each of heads) put(head, "th", { scope: "col" }, each);
  const rest = put(made, "tbody");
  for (const [name, number, part] of rows) {
    const row = put(rest, "tr");
    put(row, "th", { scope: "row" }, String(name));
    put(row, "td", { class: "number" }, number === null ? "too many" : number.toLocaleString("en"));
    const cell = put(row, "td");
    if (part === null) continue;
    if (part < 0) {
      put(cell, "span", { class: "note" }, `${(-part).toLocaleString("en")} more`);
      continue;
    }
    const share = Math.round((100 * part) / most);
    const chart = draw(cell, "svg", { class: "share", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": `${share} %` });
    draw(chart, "rect", { width: 100, height: 10, class: "all" });
    draw(chart, "rect", { width: share, height: 10, class: "part" });
  }
}

// Searching and keys.

let matches = [];
search.addEventListener("input", () => {
  const wanted = search.value.toLowerCase();
  matches = wanted ? doc.nodes.filter((node) => `${spokenName(node)}\n${node.samples.flat().join("\n")}`.toLowerCase().includes(wanted)) : [];
  const kept = new Set(matches.map((node) => node.id));
  for (const [id, group] of drawnNodes) group.classList.toggle("dim", wanted !== "" && !kept.has(id));
  found.textContent = wanted ? `${matches.length} found` : "";
});
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && matches.length) {
    const at = matches.indexOf(chosen) + (event.shiftKey ? -1 : 1);
    choose(matches[(at + matches.length) % matches.length]);
  }
  if (event.key === "Escape") {
    search.value = "";
    search.dispatchEvent(new Event("input"));
    drawnNodes.get((chosen ?? first).id).focus({ preventScroll: true });
    event.stopPropagation();
  }
});
function step(key) {
  const from = chosen ?? first;
  const beside = doc.nodes.filter((node) => node.level === from.level);
  const byHeight = (a, b) => Math.abs(a.box[1] - from.box[1]) - Math.abs(b.box[1] - from.box[1]);
  if (key === "ArrowUp" || key === "ArrowDown") {
    beside.sort((a, b) => a.box[0] - b.box[0] || a.box[1] - b.box[1]);
    return beside[beside.indexOf(from) + (key === "ArrowUp" ? -1 : 1)];
  }
  const ends = key === "ArrowRight" ? leaving.get(from.id).map((edge) => nodes.get(edge.target)) : entering.get(from.id).map((edge) => nodes.get(edge.source));
  const onward = ends.filter((node) => (key === "ArrowRight" ? node.level > from.level : node.level < from.level));
  return onward.sort(byHeight)[0];
}
const MOVES = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
document.addEventListener("keydown", (event) => {
  if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
  const inDetail = detail.contains(event.target);
  if (event.key in MOVES && !inDetail) {
    event.preventDefault();
    if (event.shiftKey) {
      view.left += MOVES[event.key][0];
      view.top += MOVES[event.key][1];
      return show();
    }
    const next = chosen === null ? first : step(event.key);
    if (next) choose(next, { focus: true });
  } else if (event.key === "+" || event.key === "=") zoom(1.4);
  else if (event.key === "-") zoom(1 / 1.4);
  else if (event.key === "f") fit();
  else if (event.key === "t") changeTheme();
  else if (event.key === "Escape") choose(null);
  else if (event.key === "/") {
    event.preventDefault();
    search.focus();
  } else if ((event.key === "Enter" || event.key === " ") && event.target.closest(".node")) {
    event.preventDefault();
    choose(nodeOf(event.target.closest(".node")), { focus: true });
  }
});
function changeTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

fit();
addEventListener("resize", () => (chosen ? reveal(chosen) : fit()));
const asked = /^#node=(\d+)$/.exec(location.hash);
choose((asked && nodes.get(Number(asked[1]))) ?? null);
