// The overview of the document, the key of the picture, and the document on paper. This comes after viewer.js.

const STANDINGS = {
  leader: "leads",
  active: "is the active controller",
  candidate: "Candidate: asks for votes",
  prospective: "Prospective: asks for pre-votes",
  resigned: "has resigned",
  down: "does not run",
  other: "any other role",
};
const MARKS = {
  moment: "its role, epoch, voters or high watermark changes, or it starts",
  deliver: "a message arrives, and these stay as they are",
  act: "another event, and these stay as they are",
  lose: "a message to it is lost",
  violation: "violates the property",
};
const ENDS = {
  delivered: "message",
  lost: "lost",
  "cut link": "sent into a cut link",
  "no longer matters": "whether it arrives makes no difference",
  "on the way": "still on the way at the end",
  copy: "a copy",
};

// The numbers of the steps that violate the property.
function breaking() {
  return doc.steps.flatMap((step, at) => (step.violations.length ? [at + 1] : []));
}

function linkTo(number, text) {
  return put(null, "a", { href: hooks.address(number) }, text);
}

function showOverview() {
  put(detail, "h2", {}, "Overview");
  for (const [title, ...parts] of [...verdictParts(), ...storyParts(true)]) section(title, ...parts);
  section("Notation", listOf(doc.notation));
  const command = put(null, "details", {}, put(null, "summary", {}, "The command that shows this in a terminal"));
  put(command, "p", {}, put(null, "code", {}, doc.again));
  detail.append(command);
}

// The property and what of it does not hold, as sections: a title and what is in it.
function verdictParts() {
  const parts = [];
  if (doc.verdict) {
    parts.push([`Violated: ${doc.verdict}`, put(null, "p", {}, doc.statement)]);
    if (doc.reasons.length) parts.push(["What does not hold", listOf(doc.reasons)]);
  }
  if (doc.cycle.length) {
    const list = put(null, "ul", {});
    for (const { step, text } of doc.cycle) put(list, "li", {}, step === null ? text : linkTo(step, text));
    parts.push(["Why it never ends", list]);
  }
  return parts;
}

// What this is, and the steps that matter, if `steps` are wanted.
function storyParts(steps) {
  const parts = [];
  if (doc.about.length) parts.push(["What this is", ...doc.about.map((text) => put(null, "p", {}, ...withLinks(text)))]);
  const told = doc.steps.flatMap((step, at) => (matters(step) ? [at + 1] : []));
  if (!steps || !told.length) return parts;
  const shown = told.length > MOST_MOMENTS ? [...told.slice(0, MOST_MOMENTS - 1), told.at(-1)] : told;
  const list = put(null, "ol", { class: "moments" });
  for (const number of shown) put(list, "li", { value: number }, ...momentsOf(number));
  const rest = [];
  if (told.length > shown.length) rest.push(`… and ${told.length - shown.length} more.`);
  if (told.length < doc.steps.length) rest.push("Steps of which there is nothing to say are left out here.");
  parts.push(["What happens, by step", list, ...rest.map((text) => put(null, "p", {}, text))]);
  return parts;
}

function momentsOf(number) {
  const step = doc.steps[number - 1];
  const name = doc.lanes[step.lane].name;
  const acts = `${name}: ${headOf(step)}${step.outcome ? `; ${step.outcome}` : ""}`;
  const parts = [linkTo(number, step.kind === "act" || !step.moments.length ? acts : step.moments.join("; "))];
  for (const text of step.remarks) parts.push(put(null, "div", { class: "note" }, text));
  if (step.fault) parts.push(put(null, "div", { class: "fault" }, faultOf(step)));
  for (const each of step.violations) parts.push(put(null, "div", { class: "violates" }, `This step violates ${each}.`));
  return parts;
}

// A text in which the ids of rules that decided lead to the step: the one where the rule is at fault, or the last.
function withLinks(text) {
  return text.split(/\b([A-Z]+-\d+)\b/).map((part, at) => {
    if (at % 2 === 0 || !Object.hasOwn(doc.rules, part)) return part;
    const faulty = doc.steps.findIndex((step) => step.fault === part);
    const number = (faulty < 0 ? doc.steps.findLastIndex((step) => step.rules.includes(part)) : faulty) + 1;
    return linkTo(number, `${part}: ${doc.rules[part].title}, step ${number}`);
  });
}

// The lines, marks and arrows that the picture of this document has, each with what it means.
function pictureKey() {
  const list = put(null, "ul", { class: "key" });
  const item = (text, ...shapes) => {
    const entry = put(list, "li", {});
    const drawn = draw(entry, "svg", { width: 34, height: 14, viewBox: "0 0 44 14", "aria-hidden": "true" });
    for (const [name, attributes] of shapes) draw(drawn, name, attributes);
    put(entry, "span", {}, text);
  };
  put(list, "li", {}, "A column is a replica or another process. Time goes down, one row for each step.");
  const roles = new Set(standings.flat().map(([, what]) => (Object.hasOwn(STANDINGS, what) ? what : "other")));
  for (const [what, text] of Object.entries(STANDINGS))
    if (roles.has(what)) item(text, ["line", { x1: 2, x2: 42, y1: 7, y2: 7, class: `lane ${what}` }]);
  const marks = new Set(doc.steps.map(markOf));
  for (const [what, text] of Object.entries(MARKS))
    if (marks.has(what)) item(text, ["circle", { cx: 22, cy: 7, r: what === "moment" ? 6 : 4.5, class: `mark ${what}` }]);
  if (doc.steps.some((step) => step.asked)) item("the admin client asks for something", ...fromOutside(22, 7));
  if (doc.steps.some((step) => step.fault)) item("the rule that the finding is about decides here", ["circle", { cx: 22, cy: 7, r: 5.5, class: "ring" }]);
  if (doc.steps.some((_, at) => crashes(at + 1))) item("the process crashes", ["path", { d: "M18 3l8 8m0 -8l-8 8", class: "crash" }]);
  if (doc.steps.some(restarts)) item("a process starts, for example after a crash", ["rect", { x: 16, y: 1, width: 12, height: 12, class: "mark moment" }]);
  const ends = new Set(doc.arrows.map((arrow) => (arrow.copy ? "copy" : arrow.end)));
  for (const [what, text] of Object.entries(ENDS))
    if (ends.has(what)) item(what === "delivered" ? text : `message, ${text}`, ...arrowShapes(what));
  return list;
}

function arrowShapes(what) {
  const kind = what.replaceAll(" ", "-");
  const line = ["line", { x1: 2, x2: 34, y1: 7, y2: 7, class: `arrow ${kind}` }];
  if (what === "lost" || what === "cut link") return [line, ["path", { d: "M30 3l8 8m0 -8l-8 8", class: `cross ${kind}` }]];
  if (what === "no longer matters") return [line, ["circle", { cx: 36, cy: 7, r: 3, class: `stop ${kind}` }]];
  if (what === "on the way") return [line];
  return [line, ["polygon", { points: "41,7 34,3.5 34,10.5", class: `tip ${kind}` }]];
}

// A short arrow to a mark at (x, y).
function fromOutside(x, y) {
  return [
    ["line", { x1: x - 20, x2: x - 11, y1: y, y2: y, class: "asked" }],
    ["polygon", { points: `${x - 6},${y} ${x - 12},${y - 3.5} ${x - 12},${y + 3.5}`, class: "asked" }],
  ];
}

// On paper: what this is, the notation, where it begins, and every step, as text.
let printed = null;
addEventListener("beforeprint", () => {
  printed = put(body, "div", { class: "printed" });
  const print = (title, ...parts) => {
    put(printed, "h2", {}, title);
    printed.append(...parts);
  };
  for (const [title, ...parts] of [...verdictParts(), ...storyParts(false)]) print(title, ...parts);
  print("Notation", listOf(doc.notation));
  print(BEGINNING, listOf(doc.lanes.map((lane) => `${lane.name}: ${lane.summary}`)));
  const list = put(null, "ol", {});
  for (const step of doc.steps) {
    const item = put(list, "li", {}, put(null, "b", {}, `${doc.lanes[step.lane].name}: ${headOf(step)}`));
    for (const text of step.remarks) put(item, "div", {}, text);
    if (step.fault) put(item, "div", { class: "fault" }, faultOf(step));
    for (const each of step.changes)
      if (each.lane !== null && !isHidden(each, step))
        put(item, "div", {}, `${doc.lanes[each.lane].name}: ${each.field}: ${each.before || "–"} → ${each.after || "–"}`);
    if (step.rules.length) put(item, "div", { class: "source" }, `by ${step.rules.join(", ")}`);
    for (const name of step.violations) put(item, "div", { class: "violates" }, `This step violates ${name}.`);
  }
  print("Steps", list);
});
addEventListener("afterprint", () => printed?.remove());
