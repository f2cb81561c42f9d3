// Shows the document of this page: see document.py for what its fields mean. Texts of the document become
// text nodes, never HTML. A page that adds to this one sets `hooks`, and may show another document with the
// same lanes (`showDocument`).

const hooks = {
  address: (step) => `#step=${step}`, // The fragment of the page's address when this step is chosen.
  opened: openFragment, // Goes where the address says.
  moved: () => {}, // A step was chosen.
};
const ROW = 48; // The height of a step, in pixels: two lines of text, with arrows above and below them.
const EDGE = 19; // From the middle of a row up to where messages arrive, and down to where they leave.
const LABEL = 300; // The room for the text of a step in the last lane, where the window has it.
const HEAD = 44; // The width of the numbers of steps.
const SVG = "http://www.w3.org/2000/svg";
const MOST_MOMENTS = 100; // In the overview.

// Making elements.

function put(parent, name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  if (parent) parent.append(made);
  return made;
}

function draw(parent, name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

// What the reader has chosen.

const chosen = { step: 0, hidden: new Set(), matches: null, allFields: false };

// The page.

const body = document.body;
const top_ = put(body, "header", {});
const title = put(top_, "h1", {});
const verdict = put(top_, "p", {});
function showHeader() {
  document.title = title.textContent = doc.title;
  verdict.className = doc.verdict ? "violates" : "note";
  verdict.textContent = doc.reasons[0] ?? doc.verdict ?? "No step violates a property.";
  const broken = breaking();
  if (broken.length) verdict.append(" ", linkTo(broken[0], `Show step ${broken[0]}`));
  const faulty = doc.steps.findIndex((step) => step.fault);
  if (faulty >= 0) verdict.append(" · ", linkTo(faulty + 1, `Rule at fault: ${ruleName(doc.steps[faulty].fault)}, step ${faulty + 1}`));
}

const bar = put(put(body, "nav", { "aria-label": "Steps" }), "div", { class: "bar", role: "toolbar", "aria-label": "Steps and search" });
const button = (label, text, press) => put(bar, "button", { type: "button", "aria-label": label, title: label, onclick: press }, text);
button("To the beginning (Home)", "|◀", () => go(0));
button("Back one step (←)", "◀", () => go(chosen.step - 1));
const slider = put(bar, "input", { type: "range", min: 0, value: 0, "aria-label": "Step" });
slider.addEventListener("input", () => go(Number(slider.value)));
button("Forward one step (→)", "▶", () => go(chosen.step + 1));
button("To the end (End)", "▶|", () => go(last));
const counter = put(bar, "output", { class: "counter", "aria-hidden": "true" });
const search = put(bar, "input", { type: "search", placeholder: "Search (/)", "aria-label": "Search in steps" });
const found = put(bar, "output", { class: "found" });
search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") {
    search.value = "";
    find();
    rows.focus();
  }
});
const laneMenu = put(bar, "details", { class: "menu" });
put(laneMenu, "summary", {}, "Lanes");
const laneList = put(laneMenu, "fieldset", {});
put(laneList, "legend", {}, "Shown lanes");
doc.lanes.forEach((lane, index) => {
  const box = put(null, "input", { type: "checkbox", checked: true });
  box.addEventListener("change", () => {
    if (box.checked) chosen.hidden.delete(index);
    else chosen.hidden.add(index);
    layOut();
  });
  put(laneList, "label", {}, box, ` ${lane.name}`);
});
button("Light or dark (t)", "◐", changeTheme);
const help = put(bar, "details", { class: "menu" });
put(help, "summary", {}, "Help");
const helpText = put(help, "div", {});
put(
  helpText,
  "p",
  {},
  "The beginning has an overview, which ends with the notation. Below the picture is its key. Keys: ← → or k j one step, Page Up and Page Down ten, Home and End, / search, n and N next and previous match, t light or dark.",
);
helpText.append(listOf(doc.notation));

const main = put(body, "main", {});
const drawing = put(main, "div", { class: "drawing" });
const scroller = put(drawing, "div", { class: "scroller" });
const key = put(drawing, "details", { class: "legend" });
put(key, "summary", {}, "How to read the picture");
const names = put(scroller, "div", { class: "names", "aria-hidden": "true" });
const canvas = put(scroller, "div", { class: "canvas" });
const picture = draw(canvas, "svg", { "aria-hidden": "true" });
const rows = put(canvas, "div", {
  class: "rows",
  role: "listbox",
  tabindex: 0,
  "aria-label": "Steps, from the first to the last",
});
const detail = put(main, "section", { class: "detail", tabindex: 0, "aria-label": "The chosen step" });
const spoken = put(body, "div", { class: "spoken", "aria-live": "polite" });

// The picture: only the rows in sight are there.

let lanesShown = [];
let laneWidth = 0; // Of all lanes but the last one, whose texts have nothing to their right.
let lastWidth = 0;
const MIN_LANE = 70;
function layOut() {
  lanesShown = doc.lanes.map((_, index) => index).filter((index) => !chosen.hidden.has(index));
  const room = scroller.clientWidth - HEAD;
  const others = Math.max(lanesShown.length - 1, 0);
  lastWidth = others ? Math.max(Math.floor(room / (others + 1)), Math.min(LABEL, Math.floor(room / 2))) : room;
  laneWidth = others ? Math.max(MIN_LANE, Math.floor((room - lastWidth) / others)) : room;
  const width = HEAD + laneWidth * others + lastWidth;
  canvas.style.width = names.style.width = `${width}px`;
  canvas.style.height = `${(last + 1) * ROW + 12}px`;
  names.replaceChildren();
  for (const lane of lanesShown) {
    const name = put(names, "div", {}, put(null, "span", { class: "name" }, doc.lanes[lane].name), put(null, "span", { class: "summary" }));
    name.style.left = `${laneLeft(lane)}px`;
    name.style.width = `${widthOf(lane) - 8}px`;
  }
  showSummaries();
  paint();
}
// Below the name of each lane what it is after the chosen step.
function showSummaries() {
  const now = summariesAfter(chosen.step);
  const changed = new Set(chosen.step === 0 ? [] : doc.steps[chosen.step - 1].summaries.map(([lane]) => lane));
  lanesShown.forEach((lane, at) => {
    const summary = names.children[at].lastChild;
    summary.textContent = names.children[at].title = now[lane];
    summary.classList.toggle("changed", changed.has(lane));
  });
}
const widthOf = (lane) => (lane === lanesShown.at(-1) ? lastWidth : laneWidth);
const laneLeft = (lane) => HEAD + lanesShown.indexOf(lane) * laneWidth;
const laneAt = (lane) => laneLeft(lane) + 14;
const rowAt = (number) => number * ROW + ROW / 2;

let painting = 0;
function paint() {
  cancelAnimationFrame(painting);
  painting = requestAnimationFrame(paintNow);
}
function paintNow() {
  const from = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 4);
  const to = Math.min(last, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + 4);
  const top = from * ROW;
  const height = (to - from + 1) * ROW + 12;
  picture.setAttribute("width", canvas.style.width);
  picture.setAttribute("height", height);
  picture.setAttribute("viewBox", `0 ${top} ${parseInt(canvas.style.width)} ${height}`);
  picture.style.top = `${top}px`;
  picture.replaceChildren();
  for (const lane of lanesShown) paintLane(lane, from, to);
  for (const arrow of doc.arrows) if (arrow.sent <= to && (arrow.ended ?? last) >= from) paintArrow(arrow);
  for (let number = from; number <= to; number++) paintMark(number);
  paintRows(from, to);
}

function paintLane(lane, from, to) {
  const parts = standings[lane];
  parts.forEach(([begin, what], at) => {
    const end = at + 1 < parts.length ? parts[at + 1][0] : last + 0.6;
    if (begin > to + 1 || end < from - 1) return;
    const y1 = rowAt(Math.max(begin, from - 1));
    const y2 = rowAt(Math.min(end, to + 1));
    draw(picture, "line", { x1: laneAt(lane), x2: laneAt(lane), y1, y2, class: `lane ${what}` });
  });
}

function paintArrow(arrow) {
  if (chosen.hidden.has(arrow.source) || chosen.hidden.has(arrow.target)) return;
  const counts = arrow.end !== "no longer matters" && arrow.end !== "on the way";
  const active = counts && (arrow.sent === chosen.step || arrow.ended === chosen.step);
  const x1 = laneAt(arrow.source);
  let x2 = laneAt(arrow.target);
  const y1 = rowAt(arrow.sent) + EDGE;
  let y2 = rowAt(arrow.ended ?? last + 0.6) - EDGE;
  const short = arrow.end !== "delivered";
  if (short) x2 = x1 + (x2 - x1) * (arrow.end === "cut link" ? 0.35 : 0.7);
  if (arrow.end === "cut link") y2 = y1 + 6;
  const kind = arrow.end.replaceAll(" ", "-") + (active ? " active" : "") + (arrow.copy ? " copy" : "");
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const stop = short ? 0 : 3;
  const [ex, ey] = [x2 - dx * stop, y2 - dy * stop];
  draw(picture, "line", { x1, y1, x2: ex, y2: ey, class: `arrow ${kind}` });
  if (arrow.end === "delivered") {
    const [ax, ay] = [ex - dx * 7, ey - dy * 7];
    const points = `${ex},${ey} ${ax - dy * 3.5},${ay + dx * 3.5} ${ax + dy * 3.5},${ay - dx * 3.5}`;
    draw(picture, "polygon", { points, class: `tip ${kind}` });
  } else if (arrow.end === "no longer matters") {
    draw(picture, "circle", { cx: ex, cy: ey, r: 3, class: `stop ${kind}` });
  } else if (arrow.end !== "on the way") {
    const d = `M${ex - 4} ${ey - 4}l8 8m0 -8l-8 8`;
    draw(picture, "path", { d, class: `cross ${kind}` });
  }
}

function paintMark(number) {
  if (number === 0) return;
  const step = doc.steps[number - 1];
  if (chosen.hidden.has(step.lane)) return;
  const [x, y] = [laneAt(step.lane), rowAt(number)];
  if (crashes(number)) draw(picture, "path", { d: `M${x - 5} ${y - 18}l10 10m0 -10l-10 10`, class: "crash" });
  if (step.asked) for (const [name, attributes] of fromOutside(x, y)) draw(picture, name, attributes);
  if (step.fault) draw(picture, "circle", { cx: x, cy: y, r: 10, class: "ring" });
  const what = markOf(step);
  if (restarts(step)) draw(picture, "rect", { x: x - 6, y: y - 6, width: 12, height: 12, class: `mark ${what}` });
  else draw(picture, "circle", { cx: x, cy: y, r: step.moments.length ? 6 : 4.5, class: `mark ${what}` });
}
function markOf(step) {
  return step.violations.length ? "violation" : step.moments.length ? "moment" : step.kind;
}

function paintRows(from, to) {
  const focused = document.activeElement === rows;
  const width = parseInt(canvas.style.width);
  rows.replaceChildren();
  for (let number = from; number <= to; number++) {
    const step = number === 0 ? null : doc.steps[number - 1];
    const row = put(rows, "div", {
      id: `row-${number}`,
      role: "option",
      class: "row" + (chosen.matches && !chosen.matches.has(number) ? " dim" : "") + (step?.cycle ? " cycle" : ""),
      "aria-selected": number === chosen.step ? "true" : "false",
      "aria-setsize": last + 1,
      "aria-posinset": number + 1,
      onclick: () => go(number, false),
    });
    row.style.top = `${number * ROW}px`;
    put(row, "span", { class: "number" }, number === 0 ? "" : String(number));
    const name = step === null ? BEGINNING : headOf(step);
    const shown = step === null ? lanesShown.length > 0 : !chosen.hidden.has(step.lane);
    const box = put(row, "span", { class: "place" });
    const label = put(box, "span", { class: "label", title: name });
    const parts = step === null ? [["", name]] : labelOf(step, number);
    if (shown) parts.forEach(([kind, text], at) => label.append(at ? " · " : "", put(null, "span", { class: kind }, text)));
    label.hidden = !shown;
    const lane = step === null ? lanesShown[0] : step.lane;
    const left = shown ? laneAt(lane) + 13 : HEAD;
    box.style.left = `${left}px`;
    const least = Math.min(step?.violations.length ? LABEL : LABEL / 2, width - left);
    box.style.width = `${shown ? Math.max(widthOf(lane) - 28, least) : 0}px`;
    if (step?.violations.length) label.classList.add("violation");
  }
  rows.setAttribute("aria-activedescendant", `row-${chosen.step}`);
  if (focused) rows.focus({ preventScroll: true });
}
scroller.addEventListener("scroll", paint, { passive: true });
new ResizeObserver(layOut).observe(scroller);

// The chosen step.

function go(number, scroll = true) {
  chosen.step = Math.min(Math.max(number, 0), last);
  slider.value = chosen.step;
  slider.setAttribute("aria-valuetext", who(chosen.step));
  counter.textContent = `${chosen.step} / ${last}`;
  const address = hooks.address(chosen.step);
  if (location.hash !== address) history.replaceState(null, "", address);
  if (scroll) {
    const y = chosen.step * ROW;
    if (y < scroller.scrollTop + ROW) scroller.scrollTop = y - ROW;
    const room = scroller.clientHeight - names.offsetHeight - 2 * ROW;
    if (y > scroller.scrollTop + room) scroller.scrollTop = y - room;
  }
  showDetail();
  showSummaries();
  paint();
  hooks.moved();
}

// Shows another document, whose lanes are the same, from step `number` on.
function showDocument(next, number) {
  doc = next;
  study();
  slider.max = last;
  showHeader();
  showKey();
  canvas.style.height = `${(last + 1) * ROW + 12}px`;
  if (search.value) find();
  go(number);
}

function section(title, ...children) {
  put(detail, "h3", {}, title);
  detail.append(...children);
}

function listOf(texts, name = "ul") {
  const list = put(null, name, {});
  for (const text of texts) put(list, "li", {}, text);
  return list;
}

function showDetail() {
  const number = chosen.step;
  const step = number === 0 ? null : doc.steps[number - 1];
  detail.replaceChildren();
  if (step === null) showOverview();
  put(detail, "h2", {}, who(number));
  if (step !== null) put(detail, "p", { class: "head" }, headOf(step));
  spoken.textContent = step === null ? BEGINNING : `${who(number)}: ${headOf(step)}`;
  for (const text of step?.remarks ?? []) put(detail, "p", { class: "remark" }, text);
  if (step?.fault) put(detail, "p", { class: "fault" }, faultOf(step));
  if (step?.cycle) put(detail, "p", { class: "note" }, "From here on the steps repeat for ever.");
  for (const name of step?.violations ?? []) put(detail, "p", { class: "violates" }, `This step violates ${name}.`);
  if (number === last && doc.verdict) for (const reason of doc.reasons) put(detail, "p", { class: "violates" }, reason);
  if (step !== null) {
    const changes = step.changes.filter((each) => each.lane !== null && !isHidden(each, step));
    if (changes.length) section("What changes", changeTable(changes));
    const messages = messagesOf(number);
    if (messages.length) section("Messages", listOf(messages));
    if (step.events.length) section("Events", listOf(step.events));
    if (step.effects.length) section("Effects, in order", effectList(step.effects));
    if (step.rules.length) section("Rules that decided, in order", ruleList(step.rules, step.fault));
    if (step.notes.length) section("Beyond the replicas", listOf(step.notes));
  }
  section(number === 0 ? "State" : "State after this step", stateTable(number, step));
  const flying = flyingAfter(number).map((arrow) => `${doc.lanes[arrow.source].name} to ${doc.lanes[arrow.target].name}: ${arrow.text}`);
  section("Messages on the way", flying.length ? listOf(flying) : put(null, "p", {}, "none"));
}

const NO_FIELD = "–"; // The role of the replica has no such field.
function changeTable(changes) {
  const table = put(null, "table", { class: "changes" });
  const head = put(put(table, "thead"), "tr");
  for (const name of ["", "field", "before", "after"]) put(head, name ? "th" : "td", name ? { scope: "col" } : {}, name);
  const rest = put(table, "tbody");
  let before = null;
  for (const each of changes) {
    const row = put(rest, "tr");
    const name = doc.lanes[each.lane].name;
    if (name === before) put(row, "td");
    else put(row, "th", { scope: "row" }, name);
    before = name;
    put(row, "td", {}, each.field);
    put(row, "td", { class: "before" }, each.before || NO_FIELD);
    put(row, "td", { class: "after" }, each.after || NO_FIELD);
  }
  return framed(table);
}

function framed(table) {
  return put(null, "div", { class: "frame", tabindex: 0, role: "group", "aria-label": "A table" }, table);
}

// The effects; those of a process that starts again after a crash as a list of their own.
function effectList(effects) {
  const all = put(null, "div", {});
  let list = null;
  for (const each of effects) {
    if (each.name === "process") put(all, "p", { class: "note" }, "Then the process crashes, and starts again:");
    if (list === null || each.name === "process") list = put(all, "ol", { class: "effects" });
    if (each.name === "process") continue;
    const item = put(list, "li", { class: each.done ? "" : "undone" });
    if (!each.done) put(item, "em", {}, "never happens: ");
    put(item, "b", {}, each.name);
    item.append(` ${each.text}`);
  }
  return all;
}

function ruleList(ids, fault = "") {
  const list = put(null, "div", { class: "rules" });
  for (const id of ids) {
    const rule = doc.rules[id];
    const item = put(list, "details", { open: id === fault });
    put(item, "summary", {}, put(null, "b", {}, id), rule ? ` ${rule.title}` : "");
    if (id === fault) put(item, "p", { class: "fault" }, "The finding is about this rule.");
    if (rule) {
      put(item, "p", {}, rule.sentence);
      put(item, "p", { class: "source" }, rule.source);
    }
  }
  return list;
}

function stateTable(number, step) {
  const now = stateAfter(number);
  const shown = doc.lanes.map((_, index) => index).filter((index) => !chosen.hidden.has(index));
  const fields = [...new Set(shown.flatMap((lane) => Object.keys(now[lane])))];
  const table = put(null, "table", { class: "state" });
  const head = put(put(table, "thead"), "tr");
  put(head, "td", {});
  for (const lane of shown) put(head, "th", { scope: "col" }, doc.lanes[lane].name);
  const rest = put(table, "tbody");
  for (const field of fields) {
    const values = shown.map((lane) => now[lane][field] ?? "");
    const changed = shown.map((lane) => step?.changes.some((each) => each.lane === lane && each.field === field) ?? false);
    const empty = values.every((value) => value === "none" || value === "");
    if (!chosen.allFields && empty && !changed.includes(true)) continue;
    const row = put(rest, "tr");
    put(row, "th", { scope: "row" }, field);
    values.forEach((value, at) => put(row, "td", changed[at] ? { class: "changed" } : {}, value));
  }
  const box = put(null, "input", { type: "checkbox" });
  box.checked = chosen.allFields;
  box.addEventListener("change", () => {
    chosen.allFields = box.checked;
    showDetail();
  });
  const both = document.createDocumentFragment();
  both.append(framed(table), put(null, "label", {}, box, " also the empty fields"));
  return both;
}

// Searching.

function find() {
  const text = search.value.trim().toLowerCase();
  chosen.matches = null;
  if (text) {
    chosen.matches = new Set();
    for (let number = 1; number <= last; number++) if (textOf(number).includes(text)) chosen.matches.add(number);
  }
  found.textContent = text ? `${chosen.matches.size} found` : "";
  paint();
}

function nextMatch(direction) {
  if (!chosen.matches?.size) return;
  let number = chosen.step;
  do number = (number + direction + last + 1) % (last + 1);
  while (!chosen.matches.has(number));
  go(number);
}

// Keys, address, theme.

const KEYS = {
  ArrowRight: () => go(chosen.step + 1),
  ArrowDown: () => go(chosen.step + 1),
  j: () => go(chosen.step + 1),
  ArrowLeft: () => go(chosen.step - 1),
  ArrowUp: () => go(chosen.step - 1),
  k: () => go(chosen.step - 1),
  PageDown: () => go(chosen.step + 10),
  PageUp: () => go(chosen.step - 10),
  Home: () => go(0),
  End: () => go(last),
  n: () => nextMatch(1),
  N: () => nextMatch(-1),
  "/": () => search.focus(),
  t: changeTheme,
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, summary, a, .detail, .frame") && event.key.length > 1) return;
  if (event.target.matches("input[type=search]")) return;
  const act = KEYS[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act();
});

function changeTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const root = document.documentElement;
  root.dataset.theme = (root.dataset.theme ?? (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
}

function openFragment() {
  const named = /^#step=(\d{1,9})$/.exec(location.hash);
  go(named ? Number(named[1]) : 0);
}
addEventListener("hashchange", () => hooks.opened());

// The key of the picture is folded where there is little room.
function showKey() {
  key.querySelector("ul")?.remove();
  key.append(pictureKey());
}

function begin() {
  showHeader();
  showKey();
  key.open = hooks.opened === openFragment && innerWidth > 760 && innerHeight > 700;
  slider.max = last;
  layOut();
  hooks.opened();
}
