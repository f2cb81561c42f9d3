// How Vote requests are read and sent, written from their layout in spec/messages.toml and from the texts of
// ID-3, VOTE-27, PREVOTE-18 and RESP-9, and held against the vectors of messages and of "request-version".
// Run: node messages.mjs [FOLDER]; exit status 0: all agree, 1: something differs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

const folder = process.argv[2] ?? fileURLToPath(new URL("..", import.meta.url));
const read = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));

// What is wrong with a value, or undefined. An array has the check of its elements, a structure its fields.
const is = (type) => (value) => (typeof value === type ? undefined : "type");
const int = (bits) => (value) => {
  if (!Number.isInteger(value)) return "type";
  return value < -(2 ** (bits - 1)) || value >= 2 ** (bits - 1) ? "range" : undefined;
};
const uuid = (value) => (/^[\w-]{22}$/.test(typeof value === "string" ? value : "") ? undefined : "type");

/** Fields: the first version that has them, and what they hold; the third: whether null is allowed. */
const PARTITION = {
  partitionIndex: [0, int(32)], replicaEpoch: [0, int(32)], replicaId: [0, int(32)],
  replicaDirectoryId: [1, uuid], voterDirectoryId: [1, uuid], lastOffsetEpoch: [0, int(32)],
  lastOffset: [0, int(64)], preVote: [2, is("boolean")],
};
const TOPIC = { topicName: [0, is("string")], partitions: [0, [PARTITION]] };
const VOTE = { clusterId: [0, is("string"), true], voterId: [1, int(32)], topics: [0, [TOPIC]] };
const NEWEST = 2;

/** Why a value is refused, and where; undefined: it is not. */
function refusal(kind, value, version, at) {
  if (value === null) return { refused: "null", at };
  if (typeof kind === "function") return kind(value) && { refused: kind(value), at };
  if (Array.isArray(kind) !== Array.isArray(value) || typeof value !== "object") return { refused: "type", at };
  if (Array.isArray(kind)) {
    return value.map((each, n) => refusal(kind[0], each, version, `${at}[${n}]`)).find((found) => found);
  }
  for (const [name, [since, inside, nullable]] of Object.entries(kind)) {
    const place = at ? `${at}.${name}` : name;
    if (version < since || (nullable && value[name] === null)) continue;
    if (!(name in value)) return { refused: "missing", at: place };
    const found = refusal(inside, value[name], version, place);
    if (found) return found;
  }
}

const key = (id, directory) => (!directory || /^A+$/.test(directory) ? { id } : { id, directory });
function vote({ version, body }) {
  if (version < 0 || version > NEWEST) return { refused: "version", at: "version" };
  const refused = refusal(VOTE, body, version, "");
  if (refused) return refused;
  const [partition, ...others] = body.topics.flatMap(({ partitions }) => partitions);
  if (!partition || others.length || body.topics.length > 1) return { answer: { error: "INVALID_REQUEST" } }; // ID-3
  const { voterId = -1 } = version < 1 ? {} : body; // what a version does not have is ignored
  const { replicaDirectoryId, voterDirectoryId } = version < 1 ? {} : partition;
  const { preVote = false } = version < 2 ? {} : partition;
  const message = {
    type: "VoteRequest", epoch: partition.replicaEpoch,
    candidate: key(partition.replicaId, replicaDirectoryId),
    voter: voterId < 0 ? null : key(voterId, voterDirectoryId),
    last_epoch: partition.lastOffsetEpoch, end_offset: partition.lastOffset, pre_vote: preVote,
  };
  return { message: body.clusterId === null ? message : { ...message, cluster_id: body.clusterId } };
}

/** VOTE-27: the newest version of both; RESP-9, PREVOTE-18: none, or one without PreVote, is not sent. */
function requestVersion({ request, supported }) {
  const version = Math.min(NEWEST, supported?.[1] ?? -1);
  if (version >= (supported?.[0] ?? 0) && !(request.pre_vote && version < 2)) return { version };
  return { answer: { type: "VoteResponse", epoch: -1, error: "UNSUPPORTED_VERSION" } };
}

let [checked, differences] = [0, 0];
const { version, specification, complete, files } = read("index.json");
if (version !== 5 || specification !== 1 || !complete) throw new Error("a set that this file does not know");
for (const { file } of files.filter(({ node, kind }) => node === "replica" && /^(message|function)$/.test(kind))) {
  for (const vector of read(file).vectors) {
    const isVote = vector.api === "Vote" && vector.direction === "request";
    const isSent = vector.function === "request-version" && vector.arguments.request.type === "VoteRequest";
    if (!isVote && !isSent) continue;
    const found = isVote ? vote(vector) : requestVersion(vector.arguments);
    checked += 1;
    if (isDeepStrictEqual(found, vector.result)) continue;
    differences += 1;
    console.log(`${file} ${vector.hash.slice(0, 12)}: computed, expected:`, found, vector.result);
  }
}
console.log(`${checked} vectors, ${differences ? `${differences} differences` : "no difference"}`);
process.exitCode = differences || checked === 0 ? 1 : 0;
