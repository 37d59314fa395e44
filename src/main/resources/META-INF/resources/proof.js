// The verifier of a feed, as docs/leaf-format.md specifies it. This file is part of the viewer and of the client in TypeScript. It needs
// only WebCrypto, neither a page nor a network, and trusts nothing but the keys.

/** The input does not match the signed log, or is no proof. The message gives the reason. */
export class NotProved extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'NotProved';
  }
}

/** The checkpoint is of a log without a pinned key: perhaps a new epoch, perhaps a trick. */
export class OtherLog extends NotProved {}

/** @typedef {Uint8Array<ArrayBuffer>} Bytes */
/** @typedef {null | boolean | string | Digits | any[] | Members} Value a JSON value, with all digits of its numbers */
/** @typedef {Map<string, any>} Members a JSON object; its values are values, too */

/** A number as it was written. */
export class Digits {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

const HASH_BYTES = 32;
const SALT_BYTES = 16;
const MAX_DEPTH = 200;

// ---- JSON ----------------------------------------------------------------------------------------------------------

const SPACE = /[ \t\n\r]*/y;
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;
const HALF_PAIR = /\p{Surrogate}/u;

/** Reads JSON without rounding numbers. Refuses a name that occurs twice in one object, and half of a surrogate pair. */
class JsonReader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  /** @param {RegExp} pattern @returns {string | undefined} */
  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  /** Reads this character, with the white space around it. @param {string} character */
  has(character) {
    this.take(SPACE);
    if (this.text[this.at] !== character) {
      return false;
    }
    this.at++;
    this.take(SPACE);
    return true;
  }

  /** @returns {never} */
  refuse() {
    throw new NotProved(`this is no JSON from character ${this.at} on`);
  }

  string() {
    /** @type {string} */
    const text = JSON.parse(this.take(STRING) ?? this.refuse());
    if (HALF_PAIR.test(text)) {
      throw new NotProved('a text has half of a surrogate pair');
    }
    return text;
  }

  /** @param {number} depth @returns {Value} */
  value(depth) {
    if (depth > MAX_DEPTH) {
      throw new NotProved(`this JSON has more than ${MAX_DEPTH} levels`);
    }
    if (this.has('{')) {
      return this.members(depth);
    }
    if (this.has('[')) {
      return this.elements(depth);
    }
    if (this.text[this.at] === '"') {
      return this.string();
    }
    const number = this.take(NUMBER);
    return number !== undefined ? new Digits(number) : JSON.parse(this.take(WORD) ?? this.refuse());
  }

  /** @param {number} depth */
  members(depth) {
    /** @type {Members} */
    const members = new Map();
    while (!this.has('}')) {
      if (members.size > 0 && !this.has(',')) {
        this.refuse();
      }
      const name = this.string();
      if (members.has(name) || !this.has(':')) {
        this.refuse();
      }
      members.set(name, this.value(depth + 1));
    }
    return members;
  }

  /** @param {number} depth */
  elements(depth) {
    /** @type {Value[]} */
    const elements = [];
    while (!this.has(']')) {
      if (elements.length > 0 && !this.has(',')) {
        this.refuse();
      }
      elements.push(this.value(depth + 1));
    }
    return elements;
  }
}

/** Reads one JSON value, with all digits of its numbers. @param {string} json */
export function parse(json) {
  const reader = new JsonReader(json);
  const value = reader.value(0);
  reader.take(SPACE);
  return reader.at === json.length ? value : reader.refuse();
}

/**
 * The canonical text of a value for its hash: RFC 8785, except that numbers keep their digits.
 *
 * @param {Value} value
 * @returns {string}
 */
export function canonical(value) {
  if (value instanceof Digits) {
    return value.text;
  }
  if (value instanceof Map) {
    // sort() compares UTF-16 code units, as RFC 8785 sorts names.
    return `{${[...value.keys()].sort().map((name) => `${JSON.stringify(name)}:${canonical(value.get(name))}`).join()}}`;
  }
  return Array.isArray(value) ? `[${value.map(canonical).join()}]` : JSON.stringify(value);
}

/** @param {Value | undefined} value @param {string} what @returns {Members} */
function object(value, what) {
  if (!(value instanceof Map)) {
    throw new NotProved(`${what} is no JSON object`);
  }
  return value;
}

/** @param {Value | undefined} value @param {string} what */
function text(value, what) {
  if (typeof value !== 'string') {
    throw new NotProved(`${what} is no text`);
  }
  return value;
}

/** @param {string | undefined} digits @param {string} what */
function natural(digits, what) {
  const number = Number(digits);
  if (digits === undefined || !/^(0|[1-9][0-9]*)$/.test(digits) || !Number.isSafeInteger(number)) {
    throw new NotProved(`${what} is not a number that can be worked with here`);
  }
  return number;
}

// ---- Bytes and hashes ----------------------------------------------------------------------------------------------

const UTF_8 = new TextEncoder();

/** @param {Uint8Array} bytes */
export const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));

/** @param {Uint8Array} bytes */
const base64url = (bytes) => base64(bytes).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');

/** @param {string} encoded @returns {Bytes | null} */
function decoded(encoded) {
  try {
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    return base64(bytes) === encoded ? bytes : null;
  } catch {
    return null;
  }
}

/** Reads a hash out of base64. @param {string} encoded */
export function hashOf(encoded) {
  const bytes = decoded(encoded);
  if (bytes?.length !== HASH_BYTES) {
    throw new NotProved('what should be a hash is not the base64 of 32 bytes');
  }
  return bytes;
}

/** Bytes of canonical base64url without padding. @param {string} encoded @param {number} length */
function fromBase64url(encoded, length) {
  const bytes = decoded(encoded.replace(/-/g, '+').replace(/_/g, '/').padEnd(Math.ceil(encoded.length / 4) * 4, '='));
  if (bytes?.length !== length || base64url(bytes) !== encoded) {
    throw new NotProved(`a seed, salt or digest is not base64url of ${length} bytes without padding`);
  }
  return bytes;
}

/** @param {Uint8Array} one @param {Uint8Array} other */
const same = (one, other) => one.length === other.length && one.every((byte, i) => byte === other[i]);

/** @param {...(Uint8Array | number[])} parts */
function joined(...parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** @param {Bytes} bytes */
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));

/** @param {Uint8Array} entry */
const leafOf = (entry) => sha256(joined([0], entry));

/** @param {Uint8Array} left @param {Uint8Array} right */
const nodeOf = (left, right) => sha256(joined([1], left, right));

// ---- Records -------------------------------------------------------------------------------------------------------

const FIELDS = new Set([
  'action', 'actor.id', 'actor.name', 'actor.type', 'ip_address', 'message', 'metadata', 'number', 'outcome', 'recorded_by',
  'subject.id', 'subject.name', 'subject.type', 'timestamp',
]);

/** The fields that can be redacted. Of the service's own events, only the message can be. */
const REDACTABLE = new Set([
  'actor.id', 'actor.name', 'actor.type', 'ip_address', 'message', 'metadata', 'outcome', 'subject.id', 'subject.name',
  'subject.type',
]);

/** The action of events that name redacted fields. Only the service's database can write them. */
export const REDACT = 'annals.redact';

/**
 * A proved record.
 *
 * @typedef {object} ProvedRecord
 * @property {string} id
 * @property {number} sequenceId
 * @property {Members} record as the API shows it, without seed and salts
 * @property {Bytes} entry the input of its leaf's hash
 * @property {string[]} redacted the redacted fields; other records of the log name them
 */

/** The fields of a record that a leaf covers, each in canonical JSON. @param {Members} record */
function fieldsOf(record) {
  /** @type {Map<string, string>} */
  const fields = new Map();
  for (const [name, value] of record) {
    if (name === 'actor' || name === 'subject') {
      object(value, name).forEach((part, of) => fields.set(`${name}.${of}`, canonical(part)));
    } else if (!['id', 'recorded_at', 'sequence_id'].includes(name) && !(name === 'metadata' && canonical(value) === '{}')) {
      fields.set(name, canonical(value));
    }
  }
  const unknown = [...fields.keys()].find((name) => !FIELDS.has(name));
  if (unknown !== undefined) {
    throw new NotProved(`no leaf covers the field ${unknown}`);
  }
  return fields;
}

/** @param {Bytes} seed @param {string} name */
async function saltOf(seed, name) {
  return base64url((await sha256(joined(seed, UTF_8.encode(name)))).subarray(0, SALT_BYTES));
}

/**
 * Computes the entry of a record from its seed, or from its salts and the digests of redacted fields.
 *
 * @param {Value} shown a record of the API with `seed`, or with `salts` and `redacted`
 * @returns {Promise<ProvedRecord>}
 */
export async function provedRecord(shown) {
  const record = new Map(object(shown, 'what should be a record'));
  const [seed, salts, redacted] = ['seed', 'salts', 'redacted'].map((name) => record.get(name));
  ['seed', 'salts', 'redacted'].forEach((name) => record.delete(name));
  const id = text(record.get('id'), 'the id');
  const recordedAt = text(record.get('recorded_at'), 'recorded_at');
  const sequenceId = natural(record.get('sequence_id')?.text, 'the sequence id');
  const fields = fieldsOf(record);
  /** @type {(name: string) => string | Promise<string>} */
  let salt;
  /** @type {Members} */
  let gone = new Map();
  if (seed !== undefined && salts === undefined && redacted === undefined) {
    const bytes = fromBase64url(text(seed, 'the seed'), HASH_BYTES);
    salt = (name) => saltOf(bytes, name);
  } else if (seed === undefined && salts !== undefined && redacted !== undefined) {
    const left = object(salts, 'salts');
    gone = object(redacted, 'redacted');
    if (left.size !== fields.size || [...fields.keys()].some((name) => !left.has(name))) {
      throw new NotProved(`record ${id} has other salts than fields`);
    }
    left.forEach((one) => fromBase64url(text(one, 'a salt'), SALT_BYTES));
    salt = (name) => left.get(name);
  } else {
    throw new NotProved(`record ${id} has neither a seed, nor salts and redacted`);
  }
  const digests = new Map(
    await Promise.all(
      [...fields].map(async ([name, value]) => {
        const salted = `[${JSON.stringify(await salt(name))},${JSON.stringify(name)},${value}]`;
        return /** @type {[string, Value]} */ ([name, base64url(await sha256(UTF_8.encode(salted)))]);
      })));
  const isOwn = (fields.get('action') ?? '"annals.').startsWith('"annals.');
  for (const [name, digest] of gone) {
    fromBase64url(text(digest, 'a digest'), HASH_BYTES);
    if (!(isOwn ? name === 'message' : REDACTABLE.has(name)) || digests.has(name)) {
      throw new NotProved(`record ${id} cannot have redacted its field ${name}`);
    }
    digests.set(name, digest);
  }
  /** @type {Members} */
  const entry = new Map(/** @type {[string, Value][]} */ ([
    ['annals', 'leaf/1'], ['fields', digests], ['id', id], ['recorded_at', recordedAt],
    ['sequence_id', new Digits(String(sequenceId))],
  ]));
  if (redacted !== undefined) {
    record.set('redacted', redacted);
  }
  return {id, sequenceId, record, entry: await sha256(UTF_8.encode(canonical(entry))), redacted: [...gone.keys()]};
}

/**
 * The redacted fields of a record that none of these records of the log names.
 *
 * @param {ProvedRecord} proved
 * @param {ProvedRecord[]} others proved, too
 */
export function unnamed(proved, others) {
  /** @type {Set<string>} */
  const named = new Set();
  for (const {record, sequenceId} of others) {
    const subject = record.get('subject');
    const says = record.get('metadata');
    if (record.get('action') === REDACT && record.has('recorded_by') && subject instanceof Map &&
        subject.get('type') === 'record' && subject.get('id') === proved.id && says instanceof Map &&
        Array.isArray(says.get('fields')) && says.get('sequence_id')?.text === String(proved.sequenceId) &&
        sequenceId > proved.sequenceId) {
      says.get('fields').forEach((/** @type {string} */ field) => named.add(field));
    }
  }
  return proved.redacted.filter((field) => !named.has(field));
}

/** The error for redacted fields that the log does not name. @param {ProvedRecord} proved @param {string[]} fields */
export const notNamed = ({id, sequenceId}, fields) => new NotProved(
  `record ${id} with the sequence id ${sequenceId} lacks its ${fields.join(', ')}, and no ${REDACT} record of the log says so`);

// ---- Trees ---------------------------------------------------------------------------------------------------------

const half = (/** @type {number} */ n) => Math.floor(n / 2);

/**
 * Whether a leaf is in a tree: RFC 9162, section 2.1.3.2. Divides, because sizes may exceed the 32 bits of JavaScript's shifts.
 *
 * @param {Uint8Array} leaf its hash
 * @param {number} index
 * @param {number} size
 * @param {Uint8Array[]} path from the leaf's sibling upwards
 * @param {Uint8Array} root
 */
export async function includes(leaf, index, size, path, root) {
  if (index < 0 || index >= size) {
    return false;
  }
  let [node, last, hash] = [index, size - 1, leaf];
  for (const sibling of path) {
    if (last === 0) {
      return false;
    }
    if (node % 2 === 1 || node === last) {
      hash = await nodeOf(sibling, hash);
      while (node % 2 === 0 && node !== 0) {
        [node, last] = [half(node), half(last)];
      }
    } else {
      hash = await nodeOf(hash, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && same(hash, root);
}

/** @typedef {{size: number, root: Uint8Array}} Tree */

/**
 * Whether one tree begins with another: RFC 9162, section 2.1.4.2.
 *
 * @param {Tree} from
 * @param {Tree} to
 * @param {Uint8Array[]} proof
 */
export async function isConsistent(from, to, proof) {
  if (from.size === to.size) {
    return proof.length === 0 && same(from.root, to.root);
  }
  if (from.size === 0 || from.size > to.size) {
    return from.size === 0 && proof.length === 0 && same(from.root, await sha256(new Uint8Array()));
  }
  let [node, last] = [from.size - 1, to.size - 1];
  while (node % 2 === 1) {
    [node, last] = [half(node), half(last)];
  }
  // A tree whose size is a power of two is a node itself, and not in the proof.
  const [first, ...path] = node === 0 ? [from.root, ...proof] : proof;
  if (first === undefined) {
    return false;
  }
  let [before, after] = [first, first];
  for (const sibling of path) {
    if (last === 0) {
      return false;
    }
    if (node % 2 === 1 || node === last) {
      [before, after] = await Promise.all([nodeOf(sibling, before), nodeOf(sibling, after)]);
      while (node % 2 === 0 && node !== 0) {
        [node, last] = [half(node), half(last)];
      }
    } else {
      after = await nodeOf(after, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && same(before, from.root) && same(after, to.root);
}

/** The sizes of the fewest whole subtrees that cover these leaves, from left to right. @param {number} start @param {number} end */
function covering(start, end) {
  const sizes = [];
  for (let at = start; at < end; at += sizes[sizes.length - 1]) {
    let size = 1;
    while (at % (2 * size) === 0 && at + 2 * size <= end) {
      size *= 2;
    }
    sizes.push(size);
  }
  return sizes;
}

/**
 * The root of a tree, from some of its leaves and the compact ranges of the leaves before and after them.
 *
 * @param {Uint8Array[]} left of the leaves 0 to `start`
 * @param {number} start
 * @param {Uint8Array[]} leaves
 * @param {Uint8Array[]} right of the leaves after them to `size`
 * @param {number} size
 */
export async function rootAround(left, start, leaves, right, size) {
  const end = start + leaves.length;
  const [before, behind] = [covering(0, start), covering(end, size)];
  if (left.length !== before.length || right.length !== behind.length || end > size) {
    throw new NotProved('the proof has more or fewer hashes than its places need');
  }
  const nodes = left.map((hash, i) => ({size: before[i], hash}));
  let place = start;
  const append = async (/** @type {number} */ width, /** @type {Uint8Array} */ hash) => {
    let node = {size: width, hash};
    place += width;
    // The last node is the left sibling: both become one.
    for (let last = nodes.at(-1); last?.size === node.size && place % (2 * node.size) === 0; last = nodes.at(-1)) {
      nodes.pop();
      node = {size: 2 * node.size, hash: await nodeOf(last.hash, node.hash)};
    }
    nodes.push(node);
  };
  for (const leaf of leaves) {
    await append(1, leaf);
  }
  for (const [i, hash] of right.entries()) {
    await append(behind[i], hash);
  }
  let root = nodes.pop()?.hash ?? (await sha256(new Uint8Array()));
  while (nodes.length > 0) {
    root = await nodeOf(/** @type {{hash: Uint8Array}} */ (nodes.pop()).hash, root);
  }
  return root;
}

// ---- Keys and notes ------------------------------------------------------------------------------------------------

const KEY = /^([^+\s\p{Z}\p{Cc}]{1,1024})\+([0-9a-f]{8})\+([0-9A-Za-z+/=]{1,64})$/u;
const SIGNATURE = /^\u2014 ([^+\s\p{Z}]+) ([0-9A-Za-z+/=]+)$/u;
const LOG_KEY = 1;
const WITNESS_KEY = 4;
const ID_BYTES = 4;
const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;
const MAX_NOTE = 131_072;
const MAX_SIGNATURES = 64;

/**
 * A key that signs notes, of a log or a witness.
 *
 * @typedef {object} Key
 * @property {string} text as C2SP signed-note writes it
 * @property {string} name
 * @property {Bytes} id
 * @property {boolean} isWitness
 * @property {CryptoKey} key
 */

/** The reason why this browser cannot verify; null if it can. */
export async function whatIsMissing() {
  if (globalThis.crypto?.subtle === undefined) {
    return 'Browsers verify only on pages that came over https, or from localhost: this one has no WebCrypto.';
  }
  try {
    await crypto.subtle.importKey('raw', new Uint8Array(HASH_BYTES), 'Ed25519', false, ['verify']);
    return null;
  } catch {
    return 'This browser has no Ed25519, so it cannot verify: current ones of all makers have it.';
  }
}

/** Reads a vkey. @param {string} vkey @returns {Promise<Key>} */
export async function parseKey(vkey) {
  const [, name, id, encoded] = KEY.exec(vkey) ?? [];
  const bytes = decoded(encoded ?? '');
  const type = bytes?.[0];
  if (!bytes || bytes.length !== 1 + HASH_BYTES || (type !== LOG_KEY && type !== WITNESS_KEY)) {
    throw new NotProved('this is no key: it looks like name+id+key, and is of the type Ed25519 or cosignature/v1');
  }
  const computed = (await sha256(joined(UTF_8.encode(`${name}\n`), bytes))).subarray(0, ID_BYTES);
  const hex = Array.from(computed, (byte) => byte.toString(16).padStart(2, '0')).join('');
  if (hex !== id) {
    throw new NotProved(`the key ${name} has the id ${hex}, and not ${id}`);
  }
  const key = await crypto.subtle.importKey('raw', bytes.slice(1), 'Ed25519', false, ['verify']);
  return {text: vkey, name, id: computed, isWitness: type === WITNESS_KEY, key};
}

/** Whether bytes are a key's signature of a text. @param {Key} key @param {string} signed @param {Bytes} signature */
async function holds(key, signed, signature) {
  const time = key.isWitness ? signature.slice(0, TIME_BYTES) : new Uint8Array();
  const rest = signature.slice(time.length);
  if (rest.length !== SIGNATURE_BYTES) {
    return false;
  }
  const head = key.isWitness ? `cosignature/v1\ntime ${new DataView(time.buffer).getBigUint64(0)}\n` : '';
  return crypto.subtle.verify('Ed25519', key.key, rest, UTF_8.encode(head + signed));
}

/**
 * A checkpoint that a key of its log has signed.
 *
 * @typedef {object} Checkpoint
 * @property {string} origin
 * @property {number} size
 * @property {Bytes} root
 * @property {string} note
 * @property {number} witnesses the number of known witnesses that have cosigned it
 */

/** The signed text of a note, and its signatures. @param {string} note */
function splitNote(note) {
  const split = note.lastIndexOf('\n\n');
  const lines = note.slice(split + 2, -1).split('\n').map((line) => {
    const [, name, encoded] = SIGNATURE.exec(line) ?? [];
    const bytes = decoded(encoded ?? '');
    return {name: name ?? '', id: bytes?.subarray(0, ID_BYTES), signature: bytes?.slice(ID_BYTES)};
  });
  if (note.length > MAX_NOTE || split < 0 || !note.endsWith('\n') || /[\u0000-\u0009\u000b-\u001f]/.test(note) ||
      lines.length > MAX_SIGNATURES || lines.some(({signature}) => !signature?.length)) {
    throw new NotProved('this is no signed note');
  }
  return {signed: note.slice(0, split + 1), lines};
}

/**
 * Reads a checkpoint, and checks that a key of its log has signed it.
 *
 * @param {string} note
 * @param {Key[]} keys of logs, whose name is their origin, and of witnesses
 * @returns {Promise<Checkpoint>}
 */
export async function openCheckpoint(note, keys) {
  const {signed, lines} = splitNote(note);
  const [origin, size, root, ...more] = signed.slice(0, -1).split('\n');
  if (!origin || size === undefined || root === undefined || more.some((line) => line === '')) {
    throw new NotProved('this note is no checkpoint');
  }
  const logs = keys.filter((key) => !key.isWitness && key.name === origin);
  if (logs.length === 0) {
    throw new OtherLog(`the checkpoint is that of the log ${origin}, of which no key is known here`);
  }
  /** @type {Set<Key>} */
  const signers = new Set();
  for (const key of [...logs, ...keys.filter(({isWitness}) => isWitness)]) {
    for (const {name, id, signature} of lines) {
      if (name === key.name && id && signature && same(id, key.id)) {
        if (!(await holds(key, signed, signature))) {
          throw new NotProved(`the signature of ${name} does not hold`);
        }
        signers.add(key);
      }
    }
  }
  if (!logs.some((key) => signers.has(key))) {
    throw new NotProved(`no key of ${origin} has signed this checkpoint`);
  }
  const witnesses = new Set([...signers].filter(({isWitness}) => isWitness).map(({name}) => name)).size;
  return {origin, size: natural(size, 'the size of the checkpoint'), root: hashOf(root), note, witnesses};
}

// ---- Proofs --------------------------------------------------------------------------------------------------------

const PROOF = /^c2sp\.org\/tlog-proof@v1\nextra ([0-9A-Za-z+/=]+)\nindex (0|[1-9][0-9]*)\n((?:[0-9A-Za-z+/=]+\n)*)\n/;

/**
 * Checks the proof of a record, C2SP tlog-proof: signature, path, and the record's leaf.
 *
 * @param {string} proof
 * @param {Key[]} keys
 * @returns {Promise<{proved: ProvedRecord, checkpoint: Checkpoint}>}
 */
export async function proveRecord(proof, keys) {
  const [head, extra, index, path] = PROOF.exec(proof) ?? [];
  const record = decoded(extra ?? '');
  if (head === undefined || !record) {
    throw new NotProved('this is no proof of a record');
  }
  const checkpoint = await openCheckpoint(proof.slice(head.length), keys);
  const proved = await provedRecord(parse(new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(record)));
  const leaf = natural(index, 'the index');
  if (proved.sequenceId !== leaf + 1) {
    throw new NotProved(`the proof is about the leaf ${leaf}, and the record has the sequence id ${proved.sequenceId}`);
  }
  const hashes = path.split('\n').slice(0, -1).map(hashOf);
  if (!(await includes(await leafOf(proved.entry), leaf, checkpoint.size, hashes, checkpoint.root))) {
    throw new NotProved(`the log of ${checkpoint.size} records does not have record ${proved.id} as it stands here`);
  }
  return {proved, checkpoint};
}

/**
 * Checks that the records of a page are consecutive records of the log.
 *
 * @param {Value} page as the API answers with `proof`
 * @param {Checkpoint} checkpoint
 * @returns {Promise<{start: number, end: number, records: ProvedRecord[]}>}
 */
export async function provePage(page, checkpoint) {
  const members = object(page, 'the page');
  const proof = object(members.get('proof'), 'the proof of the page');
  const shown = members.get('results');
  const [start, end] = ['start', 'end'].map((name) => natural(proof.get(name)?.text, name));
  const [left, right] = ['left', 'right'].map((name) => hashesOf(proof.get(name)));
  if (!Array.isArray(shown) || end - start !== shown.length) {
    throw new NotProved(`the proof is about the leaves ${start} to before ${end}, and the page has other records`);
  }
  const records = await Promise.all(shown.map(provedRecord));
  const moved = records.findIndex((record, i) => record.sequenceId !== start + i + 1);
  if (moved >= 0) {
    throw new NotProved(
      `record ${records[moved].id} has the sequence id ${records[moved].sequenceId}, and its place is ${start + moved + 1}`);
  }
  const leaves = await Promise.all(records.map(({entry}) => leafOf(entry)));
  if (!same(await rootAround(left, start, leaves, right, checkpoint.size), checkpoint.root)) {
    throw new NotProved(
      `the records with the sequence ids ${start + 1} to ${end} are not those of the log of ${checkpoint.size} records`);
  }
  return {start, end, records};
}

/** Reads an array of hashes in base64. @param {Value | undefined} array */
export function hashesOf(array) {
  if (!Array.isArray(array)) {
    throw new NotProved('there are no hashes');
  }
  return array.map((hash) => hashOf(text(hash, 'a hash')));
}
