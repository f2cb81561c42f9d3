// The explorer: what can happen next, beside the path so far, which viewer.js shows. See here.py for the
// fields of an answer. The address of the page is the path and the chosen step of it.

const MOST_HELD = 300; // Answers that are kept.
const NO_BUDGET = /^budgets\.[a-z-]+ = 0$/;
const LONG_CHECK = "The first check compiles the engine, which takes up to a minute.";
const FORMS = [
  ["trace", "Trace (JSON, for kraftcheck trace)"],
  ["page", "Page (HTML)"],
  ["scenario", "Scenario that begins here (TOML)"],
  ["pytest", "Test (pytest)"],
  ["kafka-test", "Test of Kafka (JUnit)"],
  ["mermaid", "Diagram (Mermaid)"],
];

let route = []; // The options of the path.
let shown = null; // The answer in the panel.
let asked = 0; // The number of the last question about the panel: earlier answers come too late.
const held = new Map(); // Answers about ends of paths, which never change.
const unfolded = new Set(); // The parts of the panel that the reader has opened.

// The address.

const pathText = (path) => path.join(",") || "none";
const addressOf = (path, step) => `#path=${pathText(path)}&step=${step}`;

function fromAddress() {
  const found = /^#path=([^&]*)(?:&step=(\d{1,9}))?$/.exec(location.hash);
  let text = found ? found[1] : "";
  try {
    text = decodeURIComponent(text);
  } catch {} // The server says what is wrong with it.
  return { text, step: found?.[2] === undefined ? null : Number(found[2]) };
}

async function openAddress() {
  const { text, step } = fromAddress();
  if (text === pathText(route) || (text === "" && !route.length)) return go(step ?? route.length);
  await travel(text, step);
}

// Questions.

async function ask(target, options = {}) {
  let response, data;
  try {
    response = await fetch(target, { credentials: "same-origin", ...options });
    data = await response.json();
  } catch {
    throw new Error("The server does not answer: 'kraftcheck explore' has ended. Start it again.");
  }
  if (!response.ok) throw new Error(data.error);
  return data;
}

const question = (name, path, more = {}) => `/${name}?${new URLSearchParams({ path: pathText(path), ...more })}`;

function hold(path, answer) {
  held.set(pathText(path), answer);
  if (held.size > MOST_HELD) held.delete(held.keys().next().value);
}

// How many steps of the path that `text` says are those of the path shown.
function inCommon(text) {
  const options = text.split(",");
  const differs = route.findIndex((option, at) => String(option) !== options[at]);
  return differs < 0 ? route.length : differs;
}

// Goes to the path that `text` says. The page stays as it is where the reference does not take it.
async function travel(text, step = null) {
  const number = ++asked;
  try {
    const { document: next, known, here } = await ask(`/walk?${new URLSearchParams({ path: text, known: inCommon(text) })}`);
    if (number !== asked) return;
    next.steps = [...doc.steps.slice(0, known), ...next.steps];
    next.rules = { ...doc.rules, ...next.rules };
    complain("");
    route = here.path;
    hold(route, here);
    showDocument(next, step ?? route.length);
  } catch (error) {
    if (number !== asked) return;
    complain(error.message);
    if (shown === null) go(0); // Nothing is shown yet.
  }
}

async function take(option) {
  const path = [...route.slice(0, chosen.step), option];
  history.pushState(null, "", addressOf(path, path.length));
  await travel(pathText(path));
}

async function showHere() {
  const path = route.slice(0, chosen.step);
  const number = ++asked;
  try {
    let answer = held.get(pathText(path));
    if (answer === undefined) {
      answer = await ask(question("here", path));
      hold(path, answer);
    }
    if (number !== asked) return;
    if (shown === answer && panel.dataset.taken === String(route[chosen.step])) return;
    shown = answer;
    showPanel();
  } catch (error) {
    if (number === asked) complain(error.message);
  }
}

// The panel.

const alarm = put(null, "p", { class: "alarm", role: "alert", hidden: true });
bar.parentElement.after(alarm);
function complain(text) {
  alarm.textContent = text;
  alarm.hidden = !text;
  if (text) alarm.append(" ", put(null, "a", { href: addressOf([], 0) }, "To the beginning"));
}

const panel = put(null, "section", { class: "next", tabindex: 0, "aria-label": "What can happen next" });
detail.before(panel);

function fold(parent, name, summary, ...children) {
  const part = put(parent, "details", { class: "fold" }, put(null, "summary", {}, ...summary), ...children);
  part.open = unfolded.has(name);
  part.addEventListener("toggle", () => (part.open ? unfolded.add(name) : unfolded.delete(name)));
  return part;
}

function showPanel() {
  const focused = panel.contains(document.activeElement);
  const taken = route[chosen.step];
  panel.dataset.taken = String(taken);
  panel.replaceChildren();
  showJudgements();
  showBudgets();
  put(panel, "h2", {}, "What can happen next");
  if (chosen.step < route.length)
    put(panel, "p", { class: "note" }, `From ${chosen.step ? `step ${chosen.step}` : "the beginning"}: another step than the one taken (●) branches off.`);
  if (shown.ended) put(panel, "p", { class: "violates" }, shown.ended);
  doc.lanes.forEach((lane, index) => showLane(lane, index, taken));
  showNetwork();
  showCheck();
  if (focused) panel.focus({ preventScroll: true });
}

function showLane(lane, index, taken) {
  const events = shown.events.filter((event) => event.lane === index);
  const refusals = shown.refusals.filter((refusal) => refusal.lane === index);
  if (!events.length && !refusals.length) return;
  const role = stateAfter(chosen.step)[index].role;
  put(panel, "h3", {}, lane.name, role ? put(null, "span", { class: "note" }, ` ${role}`) : "");
  let group = null;
  let list = null;
  for (const event of events) {
    if (event.group !== group) {
      group = event.group;
      put(panel, "h4", {}, group);
      list = put(panel, "ul", { class: "events" });
    }
    showEvent(put(list, "li", {}), event, taken);
  }
  if (!events.length) put(panel, "p", { class: "note" }, "Nothing can happen here now.");
  showRefusals(`not ${index}`, refusals, "Not possible here, and why");
}

function showRefusals(name, refusals, title) {
  if (!refusals.length) return;
  const list = put(null, "dl", { class: "refusals" });
  const entry = (what, why) => list.append(put(null, "dt", {}, what), put(null, "dd", {}, why));
  const never = refusals.filter((each) => NO_BUDGET.test(each.why));
  for (const each of refusals) if (!never.includes(each)) entry(each.what.join(", "), each.why);
  if (never.length) entry(never.flatMap((each) => each.what).join(", "), `the scenario has no budget: ${never.map((each) => each.why).join(", ")}`);
  fold(panel, name, [title], list);
}

function showEvent(item, event, taken) {
  const plain = event.choices.filter((choice) => !choice.variation);
  const other = event.choices.filter((choice) => choice.variation);
  if (!plain.length) put(item, "div", { class: "head" }, event.head);
  plain.forEach((choice) => showChoice(item, choice, event.head, taken));
  if (!other.length) return;
  const rest = put(null, "div", { class: "variations" });
  other.forEach((choice) => showChoice(rest, choice, choice.variation, taken));
  if (!plain.length && other.length < 4) item.append(rest);
  else {
    const folded = fold(item, `${event.lane} ${event.head}`, [other.length === 1 ? "1 variation" : `${other.length} variations`], rest);
    if (other.some((choice) => choice.option === taken)) folded.open = true;
  }
}

function showChoice(parent, choice, text, taken) {
  const line = put(parent, "div", { class: "choice" });
  const mark = choice.option === taken ? "● " : "";
  const press = put(line, "button", { type: "button", class: "take", onclick: () => take(choice.option) }, mark, text);
  if (choice.option === taken) press.setAttribute("aria-current", "step");
  if (choice.violates.length) press.classList.add("bad");
  const more = put(line, "button", { type: "button", class: "why", "aria-expanded": "false", "aria-label": `What “${text}” does, and by which rules`, title: "What it does, and by which rules" }, "?");
  more.addEventListener("click", () => showPreview(line, more, choice.option));
  for (const each of choice.moments) put(line, "div", { class: "moment" }, each);
  if (choice.idle) put(line, "div", { class: "note" }, "changes nothing: ? tells by which rules");
  for (const each of choice.violates) put(line, "div", { class: "violates" }, `violates ${each}`);
}

async function showPreview(line, more, option) {
  const before = line.querySelector(".preview");
  more.setAttribute("aria-expanded", before ? "false" : "true");
  if (before) return before.remove();
  const box = put(line, "div", { class: "preview" });
  try {
    const { step, rules } = await ask(question("preview", shown.path, { option }));
    Object.assign(doc.rules, rules);
    const changes = step.changes.filter((each) => each.lane !== null && !isHidden(each, step));
    if (changes.length) put(box, "h5", {}, "What changes");
    if (changes.length) box.append(changeTable(changes));
    else put(box, "p", {}, "No replica changes.");
    if (step.effects.length) box.append(put(null, "h5", {}, "Effects, in order"), effectList(step.effects));
    if (step.rules.length) box.append(put(null, "h5", {}, "Rules that decide, in order"), ruleList(step.rules));
    if (step.notes.length) box.append(put(null, "h5", {}, "Beyond the replicas"), listOf(step.notes));
  } catch (error) {
    put(box, "p", { class: "violates" }, error.message);
  }
}

function showNetwork() {
  showRefusals("network", shown.refusals.filter((refusal) => refusal.lane === null), "The network: what cannot happen, and why");
}

function showJudgements() {
  const broken = shown.properties.filter((each) => each.holds === false);
  const judged = shown.properties.filter((each) => each.holds !== null);
  for (const each of broken) put(panel, "p", { class: "violates" }, `${each.name} is ${each.verdict}. ${each.statement}`);
  const summary = broken.length ? `${judged.length - broken.length} of ${judged.length} properties hold` : `All ${judged.length} properties hold here`;
  const list = put(null, "dl", { class: "judged" });
  for (const each of shown.properties) {
    put(list, "dt", { class: each.holds === false ? "violates" : "" }, each.id ? `${each.name} (${each.id})` : each.name);
    put(list, "dd", {}, `${each.verdict}. ${each.statement}`);
  }
  fold(panel, "properties", [summary], list);
  if (!shown.goals.length) return;
  const reached = shown.goals.filter((each) => each.step !== null);
  const goals = put(null, "ul", {});
  for (const each of shown.goals) put(goals, "li", {}, each.step === null ? `${each.name}: not reached yet` : `${each.name}: reached in step ${each.step}`);
  fold(panel, "goals", [`Goals: ${reached.length} of ${shown.goals.length} reached`], goals);
}

function showBudgets() {
  if (!shown.budgets.length) return;
  put(panel, "p", { class: "note" }, "Budgets left: ", shown.budgets.map((each) => `${each.name} ${each.left} of ${each.size}`).join(", "));
}

// The checker, and saving.

let checking = false;
const results = new Map(); // What the checker said, by path.

function showCheck() {
  put(panel, "h2", {}, "Check from here");
  const text = pathText(shown.path);
  const press = put(panel, "button", { type: "button", disabled: checking, onclick: () => check(text) }, "Explore every state from here");
  if (checking) put(press, "span", {}, " …");
  const result = put(panel, "div", { class: "result", "aria-live": "polite" });
  if (results.has(text)) showResult(result, results.get(text));
  else if (checking) put(result, "p", {}, `Checking. ${LONG_CHECK}`);
}

async function check(text) {
  checking = true;
  showPanel();
  try {
    const headers = { "Content-Type": "application/json" };
    results.set(text, await ask("/check", { method: "POST", headers, body: JSON.stringify({ path: text }) }));
  } catch (error) {
    complain(error.message);
  }
  checking = false;
  showPanel();
}

function showResult(parent, found) {
  const limit = found.limit ? ` (limit: ${found.limit})` : "";
  const size = `${found.states.toLocaleString("en")} states, ${found.depth} steps deep, ${found.seconds.toFixed(1)} s`;
  put(parent, "p", {}, put(null, "b", {}, `${found.verdict}${limit}`), `; ${size}. Goals and behaviours are not judged.`);
  for (const each of found.violations) {
    const link = put(null, "a", { href: addressOf(each.path, each.path.length) }, "show it");
    put(parent, "p", { class: "violates" }, `${each.property} is violated ${each.steps} steps from here: `, link);
  }
}

const saveMenu = put(null, "details", { class: "menu" });
help.before(saveMenu);
put(saveMenu, "summary", {}, "Save");
const saveBox = put(saveMenu, "div", {});
put(saveBox, "p", {}, "The path up to the chosen step, as");
for (const [form, name] of FORMS) put(saveBox, "button", { type: "button", class: "wide", onclick: () => save(form) }, name);

async function save(form) {
  try {
    const { name, text } = await ask(question("save", route.slice(0, chosen.step), { as: form }));
    const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    put(null, "a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    complain("");
    saveMenu.open = false;
  } catch (error) {
    complain(`Not saved: ${error.message}`);
  }
}

// Keys.

KEYS.s = () => panel.querySelector("button.take")?.focus();
for (let digit = 1; digit <= 9; digit++) KEYS[digit] = () => panel.querySelectorAll("button.take")[digit - 1]?.click();
put(helpText, "p", {}, "Next steps: press one to take it, ? for what it does and by which rules. Keys: s to the next steps, 1 to 9 take one of them. The browser's Back undoes; the address is the path.");

hooks.address = (step) => addressOf(route, step);
hooks.opened = openAddress;
hooks.moved = showHere;
if (location.search) history.replaceState(null, "", location.pathname + location.hash); // The token is a cookie by now.
begin();
