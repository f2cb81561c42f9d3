// A small part of KRaft, written from the texts of the rules in spec/rules, held against the vectors:
// majorities (DEF-2, VOTE-20, VOTE-21, HWM-1, HWM-2, HWM-4), votes and pre-votes (VOTE-4 to VOTE-15,
// PREVOTE-7 to PREVOTE-13, ID-1 to ID-5, DEF-6) and divergence (FETCH-9, FETCH-11, FETCH-23, FETCH-24).
// Run: node consume.mjs [FOLDER]; exit status 0: all agree, 1: something differs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

const folder = process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url));
const read = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));

const isMajority = (count, size) => 2 * count > size;
function election({ voters, granted, rejected }) {
  if (isMajority(granted.length, voters.length)) return "won"; // VOTE-20
  return isMajority(voters.length - rejected.length, voters.length) ? "undecided" : "lost"; // VOTE-21
}

function highWatermark({ ends, epoch_start, high_watermark }) {
  const descending = ends.map((end) => end ?? -1).sort((a, b) => b - a);
  const reached = descending[Math.floor(ends.length / 2)]; // HWM-1
  if (reached <= epoch_start) return high_watermark; // HWM-2
  return Math.max(reached, high_watermark ?? 0); // HWM-4
}

/** Where each epoch of a log starts; it is written out only where the batches do not say it. */
function epochStarts(log) {
  if (log.epoch_starts) return log.epoch_starts;
  const batches = log.batches ?? [];
  const first = batches.filter((batch, at) => batch.epoch > (batches[at - 1]?.epoch ?? 0));
  return first.map((batch) => ({ epoch: batch.epoch, offset: batch.base_offset }));
}

function endOffset(log) {
  const last = log.batches?.at(-1);
  return last ? last.base_offset + last.records.length : (log.start_offset ?? 0);
}

function lastEpoch(log) {
  const snapshot = log.snapshots?.at(-1)?.id;
  return epochStarts(log).at(-1)?.epoch ?? (snapshot?.end_offset === endOffset(log) ? snapshot.epoch : 0);
}

/** The largest epoch of the log that is at most `epoch`, and its end (FETCH-9). */
function endOfEpoch(log, epoch) {
  const starts = epochStarts(log);
  const next = starts.findIndex((start) => start.epoch > epoch);
  if (next < 0) return { epoch: lastEpoch(log), offset: endOffset(log) };
  const snapshot = log.snapshots?.[0]?.id;
  const before = snapshot?.end_offset === starts[next].offset ? snapshot.epoch : epoch;
  return { epoch: starts[next - 1]?.epoch ?? before, offset: starts[next].offset };
}

const isKey = (wanted, key) => wanted.id === key.id && (wanted.directory ?? key.directory) === key.directory;
function isUpToDate(request, log) { // DEF-6
  const last = lastEpoch(log);
  return request.last_epoch > last || (request.last_epoch === last && request.end_offset >= endOffset(log));
}

/** The answer to a Vote request: the error or the decision, and the epoch of the answer. */
function vote(replica, request) {
  const state = replica.quorum_state ?? {};
  let epoch = state.epoch ?? 0;
  const cluster = request.cluster_id ?? null; // ID-2: null is as if it matched
  const isForeign = replica.cluster_id && cluster !== null && cluster !== replica.cluster_id;
  if (isForeign) return { error: "INCONSISTENT_CLUSTER_ID", epoch }; // ID-1
  if (request.partition) return { error: "INVALID_REQUEST", epoch }; // ID-3: given only if it is another one
  const largest = request.pre_vote ? request.epoch : request.epoch - 1;
  const isMalformed = Math.min(request.end_offset, request.last_epoch) < 0 || request.last_epoch > largest;
  if (isMalformed) return { error: "INVALID_REQUEST", epoch }; // VOTE-4, PREVOTE-7
  if (request.epoch < epoch) return { error: "FENCED_LEADER_EPOCH", epoch }; // VOTE-5, PREVOTE-8
  if (request.candidate.id < 0) return { error: "INVALID_REQUEST", epoch }; // VOTE-5
  let { voted, leader } = state;
  let role = replica.role?.type ?? "Unattached"; // the default of the field
  if (request.epoch > epoch) [epoch, voted, leader, role] = [request.epoch, null, null, "Unattached"]; // VOTE-7
  if (request.voter && !isKey(request.voter, replica.key)) return { error: "INVALID_VOTER_KEY", epoch }; // ID-4
  let granted = false; // VOTE-11 to VOTE-14
  if (request.pre_vote) {
    const fetched = role === "Follower" && replica.role.has_fetched === true;
    granted = role !== "Leader" && !fetched && isUpToDate(request, replica.log ?? {}); // PREVOTE-10 to 13
  } else if (voted && (role === "Unattached" || role === "Prospective")) {
    granted = isKey(voted, request.candidate); // VOTE-8
  } else if (role === "Unattached" || role === "Prospective") {
    granted = (leader ?? null) === null && isUpToDate(request, replica.log ?? {}); // VOTE-9, VOTE-10
  }
  return { granted, epoch };
}

/** What the leader tells a fetcher whose log is no prefix of its own, or null (FETCH-8, FETCH-9, FETCH-11). */
function divergence(log, { offset, last_epoch }) {
  const end = endOfEpoch(log, last_epoch);
  return offset === 0 || (end.epoch === last_epoch && end.offset >= offset) ? null : end;
}

/** Where a follower truncates (FETCH-23), or "dies": never below its high watermark (FETCH-24). */
function truncation(replica, diverging) {
  const log = replica.log ?? {};
  const own = endOfEpoch(log, diverging.epoch);
  let offset = own.epoch === diverging.epoch ? Math.min(own.offset, diverging.offset) : own.offset;
  if (diverging.epoch === 0) offset = Math.min(diverging.offset, endOffset(log));
  return Math.min(offset, diverging.offset) < (replica.high_watermark ?? 0) ? "dies" : offset;
}

/** What a vector asks: [computed, expected], or undefined where it is no concern of this file. */
function compared(vector) {
  const functions = { election, "high-watermark": highWatermark };
  const known = functions[vector.function];
  if (vector.kind === "function") return known && [known(vector.arguments), vector.result];
  const { replica, event, outcome: { effects, rules } } = vector;
  const decidedBy = (...ids) => ids.some((id) => rules.includes(id));
  if (event.request?.type === "VoteRequest" && effects.at(-1)?.type === "Reply") {
    const { epoch, granted = false, error, partition_error } = effects.at(-1).response;
    const fault = error ?? partition_error;
    return [vote(replica, event.request), fault ? { error: fault, epoch } : { granted, epoch }];
  }
  if (event.request?.type === "FetchRequest" && decidedBy("FETCH-8") && !decidedBy("FETCH-12", "FETCH-13")) {
    const reply = effects.find((effect) => effect.type === "Reply" && effect.to === event.source);
    return [divergence(replica.log, event.request), reply?.response.diverging ?? null];
  }
  if (event.response?.type === "FetchResponse" && decidedBy("FETCH-23")) {
    const cut = effects.find((effect) => effect.type === "Truncate");
    return [truncation(replica, event.response.diverging), cut ? cut.offset : "dies"];
  }
}

// What this file is about: production's protocol, of whatever sizes and times, and these rules.
const isProduction = ({ preset, switches }) =>
  preset === "kafka" && Object.keys(switches).every((name) => /-(ms|batches|bytes)$/.test(name));
const here = /^(VOTE-([345789]|1[0-4]|2[013])|PREVOTE-([789]|1[0-3])|(DEF|ID)-[1-6]|HWM-[124]|FETCH-([89]|11|2[34]))$/;

let differences = 0;
const checked = new Map();
const { version, specification, complete, files } = read("index.json");
if (version !== 5 || specification !== 1 || !complete) throw new Error("a set that this file does not know");
for (const { file } of files.filter(({ node, kind }) => node === "replica" && /^(step|function)$/.test(kind))) {
  for (const vector of read(file).vectors) {
    const found = isProduction(vector.protocol) ? compared(vector) : undefined;
    if (!found) continue;
    if (!isDeepStrictEqual(...found)) {
      differences += 1;
      console.log(`${file} ${vector.hash.slice(0, 12)}: computed, expected:`, ...found);
    }
    const rules = (vector.rules ?? vector.outcome.rules).filter((rule) => here.test(rule));
    for (const rule of rules) checked.set(rule, (checked.get(rule) ?? 0) + 1);
  }
}
for (const [rule, count] of [...checked].sort()) console.log(`${rule} ${count}`);
console.log(differences ? `${differences} differences` : "no difference");
process.exitCode = differences || checked.size === 0 ? 1 : 0;
