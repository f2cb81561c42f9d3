"use strict";
// The document of this page, and what follows from it for each step. This comes before viewer.js.

let doc = JSON.parse(document.getElementById("document").textContent);
const BEGINNING = "In the beginning";

// What is known of each step: number 0 is the beginning.

let last, standings, summaries, sentIn, endedIn;
let states = null; // The fields of each lane after step `states.number`.
let searched = null; // The text in which a search looks, made when it is first wanted.

function study() {
  last = doc.steps.length;
  states = searched = null;
  standings = doc.lanes.map((lane) => [[0, standing(lane.fields)]]);
  doc.lanes.forEach(noteStandings);
  summaries = doc.lanes.map((lane) => [[0, lane.summary]]);
  doc.steps.forEach((step, before) => {
    for (const [lane, text] of step.summaries) summaries[lane].push([before + 1, text]);
  });
  sentIn = Array.from({ length: last + 1 }, () => []);
  endedIn = Array.from({ length: last + 1 }, () => []);
  for (const arrow of doc.arrows) {
    sentIn[arrow.sent].push(arrow);
    if (arrow.ended !== null) endedIn[arrow.ended].push(arrow);
  }
}

function stateAfter(number) {
  if (states === null || states.number > number)
    states = { number: 0, lanes: doc.lanes.map((lane) => ({ ...lane.fields })) };
  for (; states.number < number; states.number++)
    for (const each of doc.steps[states.number].changes)
      if (each.lane !== null) states.lanes[each.lane][each.field] = each.after;
  return states.lanes;
}

// By lane, where its role or process changes: [step, what it is from there on].
function noteStandings(lane, index) {
  const fields = { ...lane.fields };
  doc.steps.forEach((step, before) => {
    let changed = false;
    for (const each of step.changes)
      if (each.lane === index) {
        fields[each.field] = each.after;
        changed = true;
      }
    if (!changed) return;
    const now = standing(fields);
    if (now !== standings[index].at(-1)[1]) standings[index].push([before + 1, now]);
  });
}

function standing(fields) {
  const process = fields.process ?? "running";
  if (process !== "running") return "down";
  const role = (fields.role ?? "").split(" ")[0].toLowerCase();
  return /^[a-z]+$/.test(role) ? role : "other";
}

// A crash comes first: a lane cuts off the end.
function headOf(step) {
  return step.besides ? `${step.besides}: ${step.head}` : step.head;
}

// Each lane in a line after step `number`.
function summariesAfter(number) {
  return summaries.map((parts) => parts.findLast(([begin]) => begin <= number)[1]);
}

function who(number) {
  return number === 0 ? BEGINNING : `Step ${number} of ${last}, ${doc.lanes[doc.steps[number - 1].lane].name}`;
}

function textOf(number) {
  searched ??= doc.steps.map((step) =>
    [
      doc.lanes[step.lane].name,
      headOf(step),
      ...step.remarks,
      ...step.rules,
      ...step.notes,
      ...step.events,
      ...step.violations,
      ...step.effects.map((each) => `${each.name} ${each.text}`),
      ...step.changes.map((each) => `${each.field}: ${each.before} → ${each.after}`),
    ]
      .join("\n")
      .toLowerCase(),
  );
  return searched[number - 1];
}
function flyingAfter(number) {
  return doc.arrows.filter((arrow) => arrow.sent <= number && (arrow.ended === null || arrow.ended > number));
}

// A step in the picture, where there is little room, as [class, text]: the outcome of a message comes first, as
// the arrow shows that it arrives; so does that of a step that violates the property.
function labelOf(step) {
  if (step.kind === "lose") return [["told", `lost: ${headOf(step).replace(/ is lost$/, "")}`]];
  const acts = step.kind === "act";
  const head = [acts ? "" : "told", headOf(step)];
  if (!step.outcome) return [head];
  const outcome = ["outcome", step.outcome];
  return acts && !step.violations.length ? [head, outcome] : [outcome, head];
}

// A field that follows from others that change in the same step.
function isHidden(change, step) {
  const others = step.changes.some((each) => each.lane === change.lane && !doc.hidden.includes(each.field));
  return others && doc.hidden.includes(change.field);
}

// What a step sends, and what no longer matters after it.
function messagesOf(number) {
  const ended = endedIn[number].filter((arrow) => arrow.end === "no longer matters");
  return [
    ...sentIn[number].filter((arrow) => !arrow.copy).map((arrow) => `sent to ${doc.lanes[arrow.target].name}: ${arrow.text}${arrow.end === "cut link" ? " (the link is cut)" : ""}`),
    ...ended.map((arrow) => `no longer matters: ${arrow.text}, ${doc.lanes[arrow.source].name} to ${doc.lanes[arrow.target].name}`),
  ];
}

study();
