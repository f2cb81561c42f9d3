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
function headOf(step, head = step.head) {
  return step.besides ? `${step.besides}: ${head}` : head;
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
      step.fault,
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
// the arrow shows that it arrives. What is sent comes last.
function labelOf(step, number) {
  const short = step.short || step.head;
  if (step.kind === "lose") return [["told", `lost: ${short.replace(/ is lost$/, "")}`]];
  const acts = step.kind === "act";
  const head = [acts ? "" : "told", short];
  const outcome = step.outcome ? [["outcome", step.outcome]] : [];
  const crash = step.besides ? [["outcome", step.besides]] : [];
  const parts = acts ? [...crash, head, ...outcome] : [...crash, ...outcome, head];
  const sent = sendsOf(number);
  return sent ? [...parts, ["told", sent]] : parts;
}

// What a step sends, by kinds of messages: "→1,2 VoteRequest pre-vote".
function sendsOf(number) {
  const kinds = new Map();
  for (const arrow of sentIn[number]) {
    if (arrow.copy) continue;
    const [kind] = arrow.text.split("(");
    const name = /\bpre-vote\b/.test(arrow.text) ? `${kind} pre-vote` : kind;
    kinds.set(name, [...(kinds.get(name) ?? []), doc.lanes[arrow.target].name.replace(/^replica /, "")]);
  }
  return [...kinds].map(([name, to]) => `→${to.sort().join(",")} ${name}`).join(" · ");
}

// Whether a process that ran crashes and another one starts, all in this step.
function crashes(number) {
  const step = doc.steps[number - 1];
  return restarts(step) && standings[step.lane].findLast(([begin]) => begin < number)[1] !== "down";
}
function restarts(step) {
  return step.events.includes("start");
}

// Steps without these are plain exchanges of messages.
function matters(step) {
  return step.kind !== "deliver" || step.fault || [step.moments, step.remarks, step.violations].some((texts) => texts.length);
}

// The title of a rule after its id, where the page has it.
function ruleName(id) {
  return Object.hasOwn(doc.rules, id) ? `${id} (${doc.rules[id].title})` : id;
}
function faultOf(step) {
  return `The finding is about the rule that decides here: ${ruleName(step.fault)}.`;
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
