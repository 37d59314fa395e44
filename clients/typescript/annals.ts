// Writes audit records to Annals. It loses no record that it has acknowledged. For Node 18 or newer, without dependencies.
//
//   const log = AuditLog.open('https://audit.example.org', token, { spool: '/var/lib/shop/audit' });
//   log.append({ action: 'volume_create', actor: { type: 'user', id: 'u-19283' }, outcome: 'success' });
//   await log.close();
//
// The guarantee, the defaults and the spool's format are described in docs/clients.md.

import { randomBytes, randomUUID } from 'node:crypto';
import * as fs from 'node:fs';
import { isIP } from 'node:net';
import * as path from 'node:path';
import { types } from 'node:util';

/** An actor or a subject. */
export interface Party {
  type?: string;
  id?: string;
  name?: string;
}

/** One entry of the audit log. Only the action is required. */
export interface AuditRecord {
  id?: string;
  action: string;
  actor?: Party;
  subject?: Party;
  outcome?: string;
  ip_address?: string;
  message?: string;
  /** The time of the event; by default the time of the append. */
  timestamp?: Date | string;
  metadata?: Record<string, unknown>;
  number?: { sequence: string };
}

/** A record that will not be stored, returned to the application. */
export interface Refusal {
  id: string;
  /** The whole record as JSON, as it was sent. */
  json: string;
  reason: string;
}

/** The receipt for one appended record. */
export interface Receipt {
  id: string;
  /** Resolves once the record is safe: with a spool on disk, without one stored by the service. */
  acknowledged: Promise<void>;
}

export interface Options {
  /** A folder that keeps records until they are stored; without it, they are in memory alone. */
  spool?: string;
  /** The sizes of the spool and of one of its files, in bytes: 1 GiB and 16 MiB. */
  spoolBytes?: number;
  segmentBytes?: number;
  /** Whether a record is acknowledged only once it is on the disk; true by default. */
  force?: boolean;
  /** The most that may wait in memory: 10,000 records and 32 MiB by default. */
  bufferRecords?: number;
  bufferBytes?: number;
  /** The most of one request: 1,000 records and 900,000 bytes by default. */
  batchRecords?: number;
  batchBytes?: number;
  /** The timeout of one request in milliseconds: 60,000 by default. */
  requestTimeout?: number;
  /** Milliseconds between attempts, doubled with each failure: from 100 to 30,000 by default. */
  firstPause?: number;
  longestPause?: number;
  /** Milliseconds of failures after which the records of a request are refused; never by default. */
  giveUpAfter?: number;
  /** Receives the records that will not be stored. By default they go into the spool's file refused.ndjson. */
  onRefusal?: (refusal: Refusal) => void;
}

export interface Metrics {
  appended: number;
  stored: number;
  refused: number;
  turnedAway: number;
  batches: number;
  retries: number;
  bufferedRecords: number;
  bufferedBytes: number;
  spoolBytes: number;
  lastFailure: string;
}

/** The buffer is full: the record was not taken. Await room() before the next append. */
export class BufferFullError extends Error {}

/** A receipt rejects with this if its record will not be stored. */
export class RecordRefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(`Record ${refusal.id}: ${refusal.reason}`);
    this.refusal = refusal;
  }
}

interface Entry {
  id: string;
  data: Buffer;
  resolve: () => void;
  reject: (cause: Error) => void;
}

/** The record with "_" before its action, in at most 255 characters; undefined if it has that already. */
function renamed(entry: Entry): Entry | undefined {
  const json = entry.data.toString('utf8');
  return ACTION.test(json) ? { ...entry, data: Buffer.from(json.replace(ACTION, '$1_$2"')) } : undefined;
}

type Answer =
  | { kind: 'stored' }
  | { kind: 'refused'; refused: Map<number, string> }
  | { kind: 'split'; reason: string }
  | { kind: 'later'; reason: string; pause?: number };

// The service takes 65,535 bytes, however characters are escaped; one is left for the "_" before an action.
const MAX_RECORD = 65_534;
const MAX_SENT = 6 * 65_535;
const MAX_ANSWER = 1 << 20;
const MAX_DEPTH = 32;
const MAX_VALUES = 4_096;
const MAX_NUMBER = 17_976_931_348_623_157n * 10n ** 292n;
const LONGEST_NUMBER = 10n ** 3_900n;
const OVERHEAD = 200;
const GROUP_RECORDS = 4_096;
const GROUP_BYTES = 1 << 20;
const LONGEST_REASON = 2_000;
const MAGIC = Buffer.from('ANNALS1\n');
const OTHER_VERSION = /^ANNALS[02-9]\n$/;
const FRAME = 12;
const PREFIX = '{"id":"';
const SEGMENT = /^(\d{20})\.spool$/;
const NOTED = /^(\d{20}) (\d{20}) ([0-9a-f]{8})\n$/;
const OF_ACTION = /"\/records\/\d{1,9}\/action"/;
const ESCAPE = /\\(?:u[0-9a-f]{4}|.)/g;
const ACTION =
  /^(\{"id":"[^"]*","timestamp":"[^"]*","action":")(?!_)((?:[^"\\]|\\u[0-9a-f]{4}|\\.){1,254})(?:[^"\\]|\\u[0-9a-f]{4}|\\.)?"/u;
const UNFIT = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d*)?|([\d.]+):\d*)$/;
const TIMESTAMP = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const FIELDS = [
  'id', 'timestamp', 'action', 'actor', 'subject', 'outcome', 'ip_address', 'message', 'metadata', 'number',
];
// Problems with a record, not with the caller.
const OF_RECORDS = ['malformed-json', 'invalid-record', 'record-id-taken', 'body-too-large', 'too-many-records'];

const CRC = new Uint32Array(256).map((_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) {
    value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  }
  return value;
});

function crc32(...parts: Uint8Array[]): number {
  let value = 0xffffffff;
  for (const part of parts) {
    for (const byte of part) {
      value = CRC[(value ^ byte) & 255] ^ (value >>> 8);
    }
  }
  return (value ^ 0xffffffff) >>> 0;
}

/** The text without characters that the service refuses, in at most `most` characters. */
function fit(text: string, most = Infinity): string {
  if (text.length <= most) {
    return text.replace(UNFIT, '\ufffd');
  }
  const characters = Array.from(text.slice(0, most * 2 + 2));
  const kept = characters.length <= most ? characters.join('') : `${characters.slice(0, most - 1).join('')}…`;
  return kept.replace(UNFIT, '\ufffd');
}

/** The size of the JSON in bytes as the service counts it: without escapes. */
function stored(json: string): number {
  return Buffer.byteLength(json.replace(ESCAPE, '_'));
}

/** The text as JSON: at most `room` bytes as stored, and at most `growth` more with escapes. */
function quoted(text: string, room = Infinity, growth = Infinity): string {
  let kept = fit(text.length > room ? text.slice(0, Math.max(room, 0)) : text);
  let mark = kept.length === text.length ? '' : '…';
  for (;;) {
    const json = JSON.stringify(kept + mark);
    const size = stored(json);
    // A code unit takes at most three bytes, and five more if it is escaped.
    const excess = Math.max(Math.ceil((size - room) / 3), Math.ceil((Buffer.byteLength(json) - size - growth) / 5));
    if (!(excess > 0) || kept.length === 0) {
      return json;
    }
    kept = fit(kept.slice(0, -excess));
    mark = '…';
  }
}

function unreadable(cause: unknown): string {
  try {
    return `(unreadable: ${cause instanceof Error ? String(cause.name) : typeof cause})`;
  } catch {
    return '(unreadable)';
  }
}

/** A time as the other clients write it: without a fraction of zero. */
function time(date: Date): string {
  const milliseconds = Date.prototype.getTime.call(date);
  return Number.isNaN(milliseconds) ? 'Invalid Date' : new Date(milliseconds).toISOString().replace('.000Z', 'Z');
}

/** Whether the service accepts the text as a time. */
function isTime(text: string): boolean {
  const parts = TIMESTAMP.exec(text);
  if (!parts) {
    return false;
  }
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number);
  const [offsetHours, offsetMinutes] = [Number(parts[8] ?? 0), Number(parts[9] ?? 0)];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, Math.min(second, 59));
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second <= 60;
  const offset = (offsetHours * 60 + offsetMinutes) * (parts[7] === '-' ? -60_000 : 60_000);
  const moment = new Date(date.getTime() - offset + (second === 60 ? 1_000 : 0));
  // A leap second. The service reads it as the second after it.
  const isLeap = /-0[17]-01T00:00:00/.test(moment.toISOString());
  const inUtc = moment.getUTCFullYear();
  return isReal && offsetHours < 24 && offsetMinutes < 60 && inUtc >= 1 && inUtc <= 9999 && (second < 60 || isLeap);
}

/** The IPv4 or IPv6 address in the text, without brackets, port and zone. */
function address(text: string): string | undefined {
  const [, v6, v4] = WITH_PORT.exec(text.trim()) ?? [];
  const bare = v6 ?? v4 ?? text.trim();
  const found = bare.includes(':') ? bare.split('%')[0] : bare;
  return isIP(found) ? found : undefined;
}

type Pairs = { pairs: Iterable<readonly [unknown, unknown]> };
type Plain = null | undefined | boolean | number | bigint | string | Pairs | { values: Iterable<unknown> };

function* pairsOf(value: object): Generator<readonly [string, unknown]> {
  for (const key of Object.keys(value)) {
    let part: unknown;
    try {
      part = (value as Record<string, unknown>)[key];
    } catch (cause) {
      part = unreadable(cause);
    }
    if (part !== undefined) {
      yield [key, part];
    }
  }
}

function* indexed(array: ArrayLike<unknown>): Generator<unknown> {
  for (let i = 0; i < array.length; i++) {
    yield array[i];
  }
}

/** Converts a value to a JSON type, but not its contents. docs/clients.md has the table. */
function plain(value: unknown, asksToJson = true): Plain {
  if (typeof value === 'function') {
    return '(function)';
  }
  if (typeof value === 'symbol') {
    return String(value);
  }
  if (typeof value !== 'object' || value === null) {
    return value as Plain;
  }
  if (types.isDate(value)) {
    return time(value);
  }
  if (types.isNativeError(value) || value instanceof Error) {
    return value.message === '' ? String(value.name) : `${String(value.name)}: ${String(value.message)}`;
  }
  if (value instanceof URL || types.isRegExp(value)) {
    return String(value);
  }
  if (types.isBoxedPrimitive(value)) {
    return plain(value.valueOf(), false);
  }
  if (types.isAnyArrayBuffer(value)) {
    return Buffer.from(value as ArrayBuffer).toString('base64');
  }
  if (types.isUint8Array(value) || types.isDataView(value) || types.isUint8ClampedArray(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  }
  const { toJSON } = value as { toJSON?: unknown };
  if (asksToJson && typeof toJSON === 'function') {
    return plain(toJSON.call(value, ''), false);
  }
  if (Array.isArray(value) || types.isTypedArray(value)) {
    return { values: indexed(value as ArrayLike<unknown>) };
  }
  const iterable = value as Iterable<unknown> & { entries?: unknown };
  if (typeof iterable[Symbol.iterator] === 'function') {
    // Maps, headers and the like have pairs. Reading an iterator would consume the application's values.
    if (iterable.entries === iterable[Symbol.iterator]) {
      return { pairs: iterable as Iterable<[unknown, unknown]> };
    }
    return typeof (value as { next?: unknown }).next === 'function' ? '(iterator)' : { values: iterable };
  }
  // An object without fields hides its state. Its text may show it.
  const hasFields = Object.keys(value).length > 0;
  const text = !hasFields && typeof value.toString === 'function' ? String(value) : '[object Object]';
  return text === '[object Object]' ? { pairs: pairsOf(value) } : text;
}

/** The text of a field's value. */
function textOf(value: unknown): string | undefined {
  try {
    const read = plain(value);
    return read === null || read === undefined ? undefined : typeof read === 'object' ? written(value, 4_096) : String(read);
  } catch (cause) {
    return unreadable(cause);
  }
}

function written(value: unknown, room: number): string {
  const writer = new Writer(room, true);
  writer.value(value, 1);
  return writer.text();
}

/**
 * Writes JSON that the service accepts for any values: an attacker who chooses a value must not get the record refused. Cyclic
 * values and those that are too deep, too many or too long are cut, with a mark.
 */
class Writer {
  #out: string[] = [];
  #path: unknown[];
  #room: number;
  /** Whether to cut what does not fit, and to reserve room for a mark in each container. */
  #cuts: boolean;
  // The service does not count the metadata itself.
  #values = MAX_VALUES + 1;
  // The service takes 131,072 bytes of metadata, written out with escapes and without exponents.
  #growth = 60_000;

  constructor(room: number, cuts: boolean, path: unknown[] = []) {
    this.#room = room;
    this.#cuts = cuts;
    this.#path = path;
  }

  text(): string {
    return this.#out.join('');
  }

  #state(): number[] {
    return [this.#out.length, this.#room, this.#values, this.#growth, this.#path.length];
  }

  #restore([length, room, values, growth, levels]: number[]): void {
    this.#out.length = length;
    this.#path.length = levels;
    this.#room = room;
    this.#values = values;
    this.#growth = growth;
  }

  #put(json: string, values = 1): boolean {
    const size = stored(json);
    const growth = Buffer.byteLength(json) - size;
    if (size > this.#room || values > this.#values || growth > this.#growth) {
      return false;
    }
    this.#out.push(json);
    this.#room -= size;
    this.#growth -= growth;
    this.#values -= values;
    return true;
  }

  #string(text: string): boolean {
    return (
      (text.length <= this.#room && this.#put(quoted(text))) ||
      (this.#cuts && this.#room >= 40 && this.#put(quoted(text, this.#room, this.#growth)))
    );
  }

  /** Writes a value; returns false, and writes nothing, if it does not fit. */
  value(value: unknown, depth: number): boolean {
    const before = this.#state();
    try {
      const read = plain(value);
      if (read === null || read === undefined || typeof read === 'boolean') {
        return this.#put(String(read ?? null));
      }
      if (typeof read === 'string') {
        return this.#string(read);
      }
      return typeof read === 'object' ? this.container(value, read, depth) : this.#number(read);
    } catch (cause) {
      this.#restore(before);
      return this.#string(unreadable(cause));
    }
  }

  #number(number: number | bigint): boolean {
    if (typeof number === 'bigint') {
      const size = number < 0n ? -number : number;
      if (size > LONGEST_NUMBER) {
        return this.#string('(a number of more than 3,900 digits)');
      }
      return size > MAX_NUMBER ? this.#string(String(number)) : this.#put(String(number));
    }
    const text = Object.is(number, -0) ? '0' : String(number);
    const exponent = /e[+-](\d+)$/.exec(text);
    const growth = exponent ? Number(exponent[1]) + 25 : 0;
    if (!Number.isFinite(number) || growth > this.#growth) {
      return this.#string(text);
    }
    this.#growth -= growth;
    return this.#put(text);
  }

  container(self: unknown, read: Pairs | { values: Iterable<unknown> }, depth: number): boolean {
    if (depth > MAX_DEPTH) {
      return this.#string('…');
    }
    if (this.#path.includes(self)) {
      return this.#string('(cyclic)');
    }
    const before = this.#state();
    const isObject = 'pairs' in read;
    if (!this.#put(isObject ? '{}' : '[]') || !this.#reserve(-1)) {
      this.#restore(before);
      return false;
    }
    this.#out[this.#out.length - 1] = isObject ? '{' : '[';
    this.#path.push(self);
    const closed = this.#parts(isObject ? read.pairs : read.values, isObject, depth);
    this.#path.pop();
    this.#out.push(isObject ? '}' : ']');
    return closed;
  }

  /** Reserves the room of a mark, or releases it. */
  #reserve(sign: number): boolean {
    if (this.#cuts) {
      this.#room += sign * 80;
      this.#values += sign * 2;
    }
    return this.#room >= 0 && this.#values >= 0;
  }

  #parts(parts: Iterable<unknown>, isObject: boolean, depth: number): boolean {
    const names = new Set<string>();
    let isFirst = true;
    let mark: string | undefined;
    try {
      for (const part of parts) {
        const start = this.#state();
        if (!this.#part(part, isObject, names, isFirst, depth)) {
          this.#restore(start);
          mark = '(cut)';
          break;
        }
        isFirst = false;
      }
    } catch (cause) {
      mark = unreadable(cause);
    }
    this.#reserve(1);
    return mark === undefined || (this.#cuts && this.#part(isObject ? ['…', mark] : mark, isObject, names, isFirst, depth));
  }

  #part(part: unknown, isObject: boolean, names: Set<string>, isFirst: boolean, depth: number): boolean {
    if (!isFirst && !this.#put(',', 0)) {
      return false;
    }
    if (!isObject) {
      return this.value(part, depth + 1);
    }
    const [key, value] = part as [unknown, unknown];
    const name = this.#name(key, depth);
    let unique = name;
    for (let i = 2; names.has(unique); i++) {
      unique = `${name} (${i})`;
    }
    if (!this.#put(`${quoted(unique)}:`) || !this.value(value, depth + 1)) {
      return false;
    }
    names.add(unique);
    return true;
  }

  /** A name is the text of what the key would be as a value. */
  #name(key: unknown, depth: number): string {
    let read: unknown;
    try {
      read = plain(key);
    } catch (cause) {
      read = unreadable(cause);
    }
    if (typeof read === 'string') {
      return fit(read, 1_024);
    }
    const inner = new Writer(1_024, true, [...this.#path]);
    inner.value(key, depth + 1);
    const text = inner.text();
    return text.startsWith('"') ? JSON.parse(text) : text;
  }
}

/** A property of an application's value; undefined if reading it throws. */
function partOf(value: object, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch (cause) {
    return unreadable(cause);
  }
}

function party(given: unknown, misfits: Map<string, unknown>, name: string): string | undefined {
  if (typeof given !== 'object' || given === null) {
    const id = textOf(given);
    return id === undefined ? undefined : `{"id":${quoted(fit(id, 1_024))}}`;
  }
  const fields: string[] = [];
  const others = new Map<string, unknown>();
  for (const key of Object.keys(given).slice(0, MAX_VALUES)) {
    const part = partOf(given, key);
    if (key === 'type' || key === 'id' || key === 'name') {
      const text = textOf(part);
      fields.push(...(text === undefined ? [] : [`"${key}":${quoted(fit(text, key === 'type' ? 255 : 1_024))}`]));
    } else if (part !== undefined) {
      others.set(key, part);
    }
  }
  if (others.size > 0) {
    misfits.set(name, others);
  }
  return fields.length > 0 ? `{${fields.join(',')}}` : undefined;
}

/** The JSON of a record that the service accepts. A value that does not fit its field goes into the metadata. */
function writtenRecord(id: string, record: AuditRecord): string {
  const misfits = new Map<string, unknown>();
  const fields = [`"id":"${id}"`];
  const add = (name: string, json: string | undefined, otherwise?: unknown) => {
    if (json !== undefined) {
      fields.push(`"${name}":${json}`);
    } else if (otherwise !== undefined && otherwise !== null && otherwise !== '') {
      misfits.set(name, otherwise);
    }
  };
  const timestamp = textOf(partOf(record, 'timestamp'));
  const isMoment = timestamp !== undefined && isTime(timestamp);
  add('timestamp', quoted(isMoment ? timestamp : time(new Date())));
  if (!isMoment && timestamp !== undefined) {
    misfits.set('timestamp', fit(timestamp, 1_024));
  }
  const action = textOf(partOf(record, 'action')) || '(none)';
  add('action', quoted(fit(action, 255)));
  for (const name of ['actor', 'subject']) {
    try {
      add(name, party(partOf(record, name), misfits, name));
    } catch (cause) {
      misfits.set(name, unreadable(cause));
    }
  }
  const outcome = textOf(partOf(record, 'outcome'));
  add('outcome', outcome ? quoted(fit(outcome, 64)) : undefined);
  const from = textOf(partOf(record, 'ip_address'));
  const bare = from !== undefined && from.length <= 100 ? address(from) : undefined;
  add('ip_address', bare && quoted(bare), from && fit(from, 1_024));
  const number = partOf(record, 'number');
  const sequence = typeof number === 'object' && number !== null ? partOf(number, 'sequence') : undefined;
  const isNamed = typeof sequence === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(sequence);
  add('number', isNamed ? `{"sequence":"${sequence}"}` : undefined, number);
  for (const [key, value] of pairsOf(record)) {
    if (!FIELDS.includes(key)) {
      misfits.set(key, value);
    }
  }
  return withMessage(fields, textOf(partOf(record, 'message')), partOf(record, 'metadata'), misfits);
}

function withMessage(
  fields: string[],
  message: string | undefined,
  metadata: unknown,
  misfits: Map<string, unknown>,
): string {
  let own: Plain;
  try {
    own = plain(metadata);
  } catch (cause) {
    own = unreadable(cause);
  }
  const isObject = typeof own === 'object' && own !== null && 'pairs' in own;
  if (!isObject && own !== null && own !== undefined) {
    misfits.set('metadata', metadata);
  }
  const isTaken = (name: string) => {
    try {
      return Object.hasOwn(metadata as object, name) || (types.isMap(metadata) && metadata.has(name));
    } catch {
      return true;
    }
  };
  const both = function* () {
    for (const [name, value] of misfits) {
      yield [isObject && isTaken(name) ? `${name} (given)` : name, value] as const;
    }
    if (isObject) {
      yield* (plain(metadata) as Pairs).pairs;
    }
  };
  const room = MAX_RECORD - stored(`${fields.join(',')}{},"message":,"metadata":`);
  const size = message === undefined ? 0 : stored(quoted(message, room));
  // First without cutting: that needs no room for marks.
  let more = '';
  for (const cuts of [false, true]) {
    const writer = new Writer(room - Math.min(size, Math.floor(room / 2)), cuts);
    if (writer.container(metadata, { pairs: both() }, 1) || cuts) {
      more = writer.text();
      break;
    }
  }
  if (message !== undefined) {
    fields.push(`"message":${quoted(message, room - stored(more))}`);
  }
  if (more.length > 2) {
    fields.push(`"metadata":${more}`);
  }
  return `{${fields.join(',')}}`;
}

function ended(from: number, segment: number): string {
  return `${String(segment).padStart(20, '0')} ${String(from).padStart(20, '0')}`;
}

/** An event that happens repeatedly and can be awaited. */
class Signal {
  #waiting: (() => void)[] = [];

  notify(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    waiting.forEach((wake) => wake());
  }

  /** Resolves with true as soon as the condition holds, with false when the time ends. */
  async until(condition: () => boolean, milliseconds = Infinity): Promise<boolean> {
    const end = performance.now() + milliseconds;
    while (!condition()) {
      const left = end - performance.now();
      if (left <= 0) {
        return false;
      }
      await new Promise<void>((resolve) => {
        const timer = left === Infinity ? undefined : setTimeout(resolve, Math.min(left, 2 ** 31 - 1));
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    return true;
  }
}

/**
 * The folder of a spool. One process has it, and only its user may read it.
 *
 * The process has made the file owner-N with the highest number: of two that start together, only one can make it. It renews the
 * file's time each second, which processes in other containers can see. Java, Python and Go also lock the file `lock`: Node cannot.
 */
class Folder {
  /** Shared by the whole process: it may have this module twice, as CommonJS, too. */
  static readonly #inUse: Set<string> = ((globalThis as Record<symbol, Set<string>>)[Symbol.for('annals.spools')] ??=
    new Set());
  static readonly #BEAT = 1_000;
  /** A process whose file is older has ended, or stands still. If it goes on, it finds that the folder is no longer its own. */
  static readonly #STALE = 10_000;
  readonly path: string;
  #owner = '';
  #note = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(folder: string) {
    fs.mkdirSync(path.dirname(path.resolve(folder)), { recursive: true });
    if (!fs.existsSync(folder)) {
      fs.mkdirSync(folder, { mode: 0o700 });
    }
    this.path = fs.realpathSync(folder);
    const { mode, uid } = fs.statSync(this.path);
    if (process.platform !== 'win32' && mode & 0o022) {
      throw new Error(`Others may write to the spool ${folder}: run chmod go-w on it`);
    }
    const user = process.geteuid?.() ?? uid;
    if (uid !== user) {
      throw new Error(
        `The spool ${folder} belongs to the user ${uid}, who could add records: name a folder of ${user}`,
      );
    }
    if (Folder.#inUse.has(this.path)) {
      throw this.#taken();
    }
    Folder.#inUse.add(this.path);
    try {
      this.#take();
    } catch (cause) {
      this.close();
      throw cause;
    }
    this.#timer = setInterval(() => this.#beat(), Folder.#BEAT).unref();
  }

  #take(): void {
    const [pid, began] = Folder.#process('self') ?? [String(process.pid), '0'];
    let space = '-';
    try {
      space = fs.readlinkSync('/proc/self/ns/pid');
    } catch {
      // Not Linux.
    }
    const before = Math.max(0, ...this.#numbers());
    const last = this.file(`owner-${before}`);
    if (before > 0 && Folder.#isAlive(last, space)) {
      throw this.#taken();
    }
    const owner = this.file(`owner-${before + 1}`);
    let made: number;
    try {
      made = fs.openSync(owner, 'wx', 0o600);
    } catch (cause) {
      throw (cause as NodeJS.ErrnoException).code === 'EEXIST' ? this.#taken() : cause;
    }
    this.#owner = owner;
    try {
      const note = `${pid} ${began} ${space} beats ${randomUUID()}\n`;
      writeAll(made, Buffer.from(note), 0);
      this.#note = note;
    } catch {
      // On a full disk the file stays empty: what the spool has can still be sent.
      fs.ftruncateSync(made, 0);
    } finally {
      fs.closeSync(made);
    }
    // The process that listed the files before this one began may be slower than those after it.
    const now = this.#numbers();
    if (Math.max(...now) > before + 1) {
      throw this.#taken();
    }
    now.filter((number) => number <= before).forEach((number) => fs.rmSync(this.file(`owner-${number}`), { force: true }));
  }

  /** The number and the start time, which tells processes with the same number apart; undefined if it has ended. */
  static #process(pid: string): [string, string] | undefined {
    try {
      const state = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
      const fields = state.slice(state.lastIndexOf(')') + 2).split(' ');
      // A zombie is still listed.
      return /[ZX]/.test(fields[0]) ? undefined : [state.slice(0, state.indexOf(' ')), fields[19]];
    } catch {
      return undefined;
    }
  }

  /** Whether the process that made this file has not ended. */
  static #isAlive(file: string, space: string): boolean {
    try {
      const [pid, began, noted] = fs.readFileSync(file, 'latin1').split(' ');
      if (noted === space && space !== '-') {
        return Folder.#process(pid)?.[1] === began;
      }
      const seen = fs.statSync(file).mtimeMs;
      while (Math.abs(Date.now() - seen) < Folder.#STALE) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
        if (fs.statSync(file).mtimeMs !== seen) {
          return true;
        }
      }
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') {
        throw cause;
      }
      // It has closed the spool.
    }
    return false;
  }

  #beat(): void {
    try {
      const now = new Date();
      fs.utimesSync(this.#owner, now, now);
    } catch {
      // If the file is gone, requireOwned() says so.
    }
  }

  #numbers(): number[] {
    return fs.readdirSync(this.path).flatMap((name) => {
      const owner = /^owner-(\d{1,15})$/.exec(name);
      return owner ? [Number(owner[1])] : [];
    });
  }

  isOwned(): boolean {
    try {
      return fs.readFileSync(this.#owner, 'latin1') === this.#note;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') {
        return false;
      }
      throw cause;
    }
  }

  /** Another process takes the folder if this one stood still for long. It sends what is there. */
  requireOwned(): void {
    if (!this.isOwned()) {
      throw new Error(
        `The spool ${this.path} was taken by another process, or its files were removed: start this process again,` +
          ' with a folder of its own',
      );
    }
  }

  #taken(): Error {
    return new Error(`The spool ${this.path} is in use: give each process a folder of its own`);
  }

  file(name: string): string {
    return path.join(this.path, name);
  }

  open(name: string, flags: number): number {
    return fs.openSync(this.file(name), flags | (fs.constants.O_NOFOLLOW ?? 0), 0o600);
  }

  /** Forces the names of new files to disk, if the system supports it. */
  force(): void {
    if (process.platform !== 'win32') {
      const directory = fs.openSync(this.path, 'r');
      try {
        fs.fsyncSync(directory);
      } finally {
        fs.closeSync(directory);
      }
    }
  }

  close(): void {
    clearInterval(this.#timer);
    try {
      if (this.#owner !== '' && this.isOwned()) {
        fs.rmSync(this.#owner, { force: true });
      }
    } finally {
      Folder.#inUse.delete(this.path);
    }
  }
}

function writeAll(file: number, data: Uint8Array, offset: number): void {
  for (let done = 0; done < data.length; ) {
    done += fs.writeSync(file, data, done, data.length - done, offset + done);
  }
}

function readAll(file: number, length: number, offset: number): Buffer {
  const data = Buffer.alloc(length);
  let done = 0;
  for (let read = -1; read !== 0 && done < length; done += read) {
    read = fs.readSync(file, data, done, length - done, offset + done);
  }
  return data.subarray(0, done);
}

/**
 * Keeps records on disk until the service has stored them. A process never writes into a file that another process began. If a
 * file is shorter than the noted place, because a loss of power took its end, no later record can fill that gap and be skipped.
 * Records are acknowledged, and files deleted, only while the folder is this process's own: another one took it first and then
 * looked for files, so it has found all that was acknowledged.
 */
class Spool {
  /** A file that cannot be read so often in a row is left to the next start, as others wait behind it. */
  static readonly #MOST_FAILURES = 3;
  readonly changed: Signal;
  readonly folder: Folder;
  stopped = false;
  #options: Required<Pick<Options, 'spoolBytes' | 'segmentBytes' | 'force' | 'batchRecords' | 'batchBytes'>>;
  #place: number;
  #ends = new Map<number, number>();
  #active = 0;
  #unreadable = 0;
  #last = 0;
  #out: number | undefined;
  #outEnd = 0;
  #notedSegment = 0;
  #notedOffset = MAGIC.length;
  #readSegment = 0;
  #readOffset = MAGIC.length;
  #givenEnd = 0;
  #failures = 0;
  /** A damaged file that is not kept under another name yet, or 0. */
  #toKeep = 0;
  #reported = 0;

  constructor(folder: string, changed: Signal, options: Options) {
    this.#options = {
      spoolBytes: options.spoolBytes ?? 2 ** 30,
      segmentBytes: options.segmentBytes ?? 1 << 24,
      force: options.force ?? true,
      batchRecords: Math.min(options.batchRecords ?? 1_000, 1_000),
      batchBytes: Math.min(options.batchBytes ?? 900_000, 16_000_000),
    };
    if (this.#options.segmentBytes < 1 << 19 || this.#options.spoolBytes < 2 * this.#options.segmentBytes) {
      throw new RangeError("A spool's file may be full at 524288 bytes at the least, and a spool has room for two");
    }
    this.changed = changed;
    this.folder = new Folder(folder);
    try {
      this.#place = this.folder.open('acknowledged', fs.constants.O_CREAT | fs.constants.O_RDWR);
      this.#findSegments();
      this.#startBehindWhatIsAcknowledged();
    } catch (cause) {
      this.folder.close();
      throw cause;
    }
  }

  #findSegments(): void {
    for (const name of fs.readdirSync(this.folder.path)) {
      const segment = SEGMENT.exec(name);
      if (segment) {
        const file = this.folder.open(name, fs.constants.O_RDONLY);
        try {
          const { size } = fs.fstatSync(file);
          if (OTHER_VERSION.test(readAll(file, MAGIC.length, 0).toString('latin1'))) {
            throw new Error(`${this.folder.file(name)} is not a spool's file of this version`);
          }
          // It is shorter if its process ended before it wrote the header.
          this.#ends.set(Number(segment[1]), size < MAGIC.length ? 0 : size);
        } finally {
          fs.closeSync(file);
        }
      }
    }
  }

  #startBehindWhatIsAcknowledged(): void {
    const noted = NOTED.exec(readAll(this.#place, 51, 0).toString('latin1'));
    if (noted && crc32(Buffer.from(`${noted[1]} ${noted[2]}`)) === parseInt(noted[3], 16)) {
      this.#notedSegment = Number(noted[1]);
      this.#notedOffset = Math.max(MAGIC.length, Number(noted[2]));
    }
    this.#last = Math.max(this.#notedSegment, ...this.#ends.keys());
    this.#goTo(this.#ends.size === 0 ? this.#last + 1 : Math.min(...this.#ends.keys()));
  }

  #goTo(segment: number): void {
    this.#readSegment = segment;
    this.#readOffset = segment === this.#notedSegment ? this.#notedOffset : MAGIC.length;
  }

  static #name(segment: number): string {
    return `${String(segment).padStart(20, '0')}.spool`;
  }

  /** Writes records; false if it is full and stopped. If it fails, they have to be written again. */
  async write(group: Entry[]): Promise<boolean> {
    const frames = Buffer.concat(
      group.flatMap(({ data }) => {
        const header = Buffer.alloc(FRAME);
        header.writeUInt32BE(data.length, 0);
        header.writeUInt32BE(crc32(header.subarray(0, 4), data), 4);
        header.writeUInt32BE(crc32(header.subarray(0, 8)), 8);
        return [header, data];
      }),
    );
    await this.changed.until(() => this.stopped || this.bytes() + frames.length <= this.#options.spoolBytes);
    if (this.stopped && this.bytes() + frames.length > this.#options.spoolBytes) {
      return false;
    }
    this.folder.requireOwned();
    try {
      const isFull = this.#outEnd + frames.length > this.#options.segmentBytes;
      if (this.#out === undefined || isFull || this.#unreadable === this.#active) {
        this.#closeOut();
        this.#begin();
      }
      const out = this.#out as number | undefined;
      writeAll(out as number, frames, this.#outEnd);
      if (this.#options.force) {
        await new Promise<void>((resolve, reject) =>
          fs.fdatasync(out as number, (cause) => (cause ? reject(cause) : resolve())),
        );
      }
      this.folder.requireOwned();
    } catch (cause) {
      this.#abandon();
      throw cause;
    }
    this.#outEnd += frames.length;
    this.#ends.set(this.#active, this.#outEnd);
    this.changed.notify();
    return true;
  }

  #begin(): void {
    const { O_CREAT, O_EXCL, O_WRONLY } = fs.constants;
    while (this.#out === undefined) {
      try {
        this.#out = this.folder.open(Spool.#name(this.#last + 1), O_CREAT | O_EXCL | O_WRONLY);
      } catch (cause) {
        // A process that lost the folder while it began a file made this one. The next start reads it.
        if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') {
          throw cause;
        }
      }
      this.#last++;
    }
    this.#outEnd = 0;
    const out = this.#out as number;
    writeAll(out, MAGIC, 0);
    fs.fsyncSync(out);
    this.folder.force();
    this.#outEnd = MAGIC.length;
    this.#active = this.#last;
    this.#ends.set(this.#active, this.#outEnd);
    this.changed.notify();
  }

  #abandon(): void {
    // A disk that has failed once may have dropped what was written: the records go into another file.
    if (this.#out === undefined) {
      return;
    }
    try {
      if (this.#outEnd > MAGIC.length) {
        fs.ftruncateSync(this.#out, this.#outEnd);
      } else {
        // A disk that is full for hours must not fill with empty files.
        this.#ends.delete(this.#last);
        fs.rmSync(this.folder.file(Spool.#name(this.#last)), { force: true });
      }
    } catch (cause) {
      console.warn(`annals: a file of the spool in ${this.folder.path} could not be cut: ${cause}`);
    }
    this.#closeOut();
  }

  #closeOut(): void {
    this.#active = 0;
    if (this.#out !== undefined) {
      const out = this.#out;
      this.#out = undefined;
      fs.closeSync(out);
    }
    this.changed.notify();
  }

  /** Waits for records, and gives the oldest; undefined once it is stopped. */
  async next(): Promise<Entry[] | undefined> {
    while (true) {
      await this.changed.until(() => this.stopped || !this.#isAtTheEnd());
      if (this.stopped) {
        return undefined;
      }
      this.folder.requireOwned();
      const segment = this.#readSegment;
      const end = this.#ends.get(segment) ?? 0;
      if (this.#readOffset < end) {
        const batch = this.#readOrLeave(segment, end);
        if (batch.length > 0) {
          return batch;
        }
      }
      const isComplete = this.#readSegment === segment && segment !== this.#active;
      if (isComplete && this.#readOffset >= (this.#ends.get(segment) ?? 0)) {
        this.#nextSegment();
      }
    }
  }

  #isAtTheEnd(): boolean {
    if (this.#readSegment === this.#active || this.#ends.size === 0) {
      const isUnreadable = this.#active !== 0 && this.#unreadable === this.#active;
      return isUnreadable || this.#readOffset >= (this.#ends.get(this.#readSegment) ?? 0);
    }
    return false;
  }

  #readOrLeave(segment: number, end: number): Entry[] {
    try {
      const batch = this.#read(segment, end);
      this.#failures = 0;
      return batch;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') {
        this.#leave(segment, 'was removed before all its records were stored');
      } else if (++this.#failures < Spool.#MOST_FAILURES) {
        throw cause;
      } else {
        this.#leave(segment, `stays for the next start, as it cannot be read: ${cause}`);
      }
      return [];
    }
  }

  #leave(segment: number, reason: string): void {
    this.#failures = 0;
    console.error(`annals: the spool's file ${this.folder.file(Spool.#name(segment))} ${reason}`);
    if (segment === this.#active) {
      this.#unreadable = segment;
    } else {
      this.#ends.delete(segment);
      this.#goBehind(segment);
    }
  }

  /** Empty if there is no whole record at the place, which is then behind the damage. */
  #read(segment: number, end: number): Entry[] {
    const file = this.folder.open(Spool.#name(segment), fs.constants.O_RDONLY);
    try {
      const most = this.#options.batchBytes + FRAME + MAX_SENT;
      const data = readAll(file, Math.min(most, end - this.#readOffset), this.#readOffset);
      const batch: Entry[] = [];
      let at = 0;
      let size = 0;
      while (batch.length < this.#options.batchRecords && size < this.#options.batchBytes) {
        const entry = Spool.#entry(data, at);
        if (entry === undefined) {
          break;
        }
        batch.push(entry);
        size += entry.data.length + 1;
        at += FRAME + entry.data.length;
      }
      this.#givenEnd = this.#readOffset + at;
      if (batch.length === 0) {
        this.#readOffset = this.#behindDamage(segment, data, end);
      }
      return batch;
    } finally {
      fs.closeSync(file);
    }
  }

  /** The length of the record, which the header's own checksum confirms; undefined if no frame begins there. */
  static #length(data: Buffer, at: number): number | undefined {
    if (data.length - at < FRAME || crc32(data.subarray(at, at + 8)) !== data.readUInt32BE(at + 8)) {
      return undefined;
    }
    const length = data.readUInt32BE(at);
    return length > 0 && length <= MAX_SENT ? length : undefined;
  }

  static #entry(data: Buffer, at: number): Entry | undefined {
    const length = Spool.#length(data, at);
    if (length === undefined || length > data.length - at - FRAME) {
      return undefined;
    }
    const record = data.subarray(at + FRAME, at + FRAME + length);
    const isWhole = crc32(data.subarray(at, at + 4), record) === data.readUInt32BE(at + 4);
    const id = /^\{"id":"([0-9a-f-]{36})"/.exec(record.toString('latin1', 0, 44));
    return isWhole && id ? { id: id[1], data: record, resolve: () => {}, reject: () => {} } : undefined;
  }

  /**
   * The offset to read on from. If the last frame is shorter than its header says, or its header is cut off, its process ended while it wrote,
   * and the record was never acknowledged. Anything else is damage: the file is kept, and the records behind are sent.
   */
  #behindDamage(segment: number, data: Buffer, end: number): number {
    if (data.length < FRAME || (Spool.#length(data, 0) ?? 0) > data.length - FRAME) {
      return end;
    }
    this.#keep(segment);
    for (let found = data.indexOf(PREFIX, FRAME + 1); found >= 0; found = data.indexOf(PREFIX, found + 1)) {
      if (Spool.#entry(data, found - FRAME)) {
        return this.#readOffset + found - FRAME;
      }
    }
    // A frame may begin in these bytes and end behind them.
    const isEnd = this.#readOffset + data.length >= end;
    return isEnd ? end : this.#readOffset + data.length - FRAME - MAX_SENT;
  }

  /** A second name needs no room on a disk that may be full. Without hard links, the file is renamed, not deleted. */
  #keep(segment: number): void {
    if (this.#reported === segment) {
      return;
    }
    const file = this.folder.file(Spool.#name(segment));
    const damaged = Spool.#damaged(file);
    try {
      if (!fs.existsSync(damaged)) {
        fs.linkSync(file, damaged);
      }
    } catch {
      this.#toKeep = segment;
    }
    this.#reported = segment;
    console.error(
      `annals: the spool's file ${file} is damaged at byte ${this.#readOffset}: it is kept as ${damaged},` +
        ' and its records before and behind the damage are sent',
    );
  }

  /** The name for a damaged file: that of another one is never taken. */
  static #damaged(file: string): string {
    let name = `${file}.damaged`;
    for (let i = 2; fs.existsSync(name) && fs.statSync(name).ino !== fs.statSync(file).ino; i++) {
      name = `${file}.damaged-${i}`;
    }
    return name;
  }

  /** Removes the records that next() returned last: all are stored or refused. */
  settled(): void {
    this.folder.requireOwned();
    this.#readOffset = this.#givenEnd;
    this.#note();
    if (this.#readSegment !== this.#active && this.#readOffset >= (this.#ends.get(this.#readSegment) ?? 0)) {
      this.#nextSegment();
    }
    this.changed.notify();
  }

  #nextSegment(): void {
    const done = this.#readSegment;
    this.#goBehind(done);
    this.#delete(done);
    this.#note();
    this.changed.notify();
  }

  #goBehind(segment: number): void {
    const later = [...this.#ends.keys()].filter((number) => number > segment);
    this.#goTo(later.length === 0 ? segment + 1 : Math.min(...later));
  }

  /** Not forced to disk: if the place is lost, records are sent again, and the service recognizes their ids. */
  #note(): void {
    const text = ended(this.#readOffset, this.#readSegment);
    const checksum = crc32(Buffer.from(text)).toString(16).padStart(8, '0');
    try {
      writeAll(this.#place, Buffer.from(`${text} ${checksum}\n`), 0);
    } catch (cause) {
      console.warn(`annals: the place in the spool ${this.folder.path} was not noted: ${cause}`);
    }
  }

  #delete(segment: number): void {
    this.#ends.delete(segment);
    try {
      const file = this.folder.file(Spool.#name(segment));
      if (this.#toKeep === segment) {
        fs.renameSync(file, Spool.#damaged(file));
      } else {
        fs.rmSync(file, { force: true });
      }
    } catch (cause) {
      console.warn(`annals: a file of the spool whose records are stored stays: ${cause}`);
    }
  }

  /** A function that tells whether all records written so far are settled. */
  mark(): () => boolean {
    const segment = Math.max(0, ...this.#ends.keys());
    const offset = this.#ends.get(segment) ?? 0;
    return () =>
      this.#readSegment > segment ||
      (this.#readSegment === segment && this.#readOffset >= Math.min(offset, this.#ends.get(segment) ?? 0));
  }

  bytes(): number {
    return [...this.#ends.values()].reduce((sum, end) => sum + end, 0);
  }

  keepRefused(refusal: Refusal): void {
    const { O_CREAT, O_WRONLY, O_APPEND } = fs.constants;
    const file = this.folder.open('refused.ndjson', O_CREAT | O_WRONLY | O_APPEND);
    try {
      fs.writeFileSync(file, `{"reason":${JSON.stringify(refusal.reason)},"record":${refusal.json}}\n`);
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  }

  /** Releases the folder. A file is deleted if all its records are stored. */
  close(): void {
    const written = this.#active;
    this.#closeOut();
    const isStored = this.#readSegment === written && this.#readOffset >= (this.#ends.get(written) ?? 0);
    if (written !== 0 && isStored && this.folder.isOwned()) {
      this.#nextSegment();
    }
    fs.closeSync(this.#place);
    this.folder.close();
  }
}

/**
 * The HTTP endpoint for batches. Records count as stored only if the answer names their ids, and as refused only if the answer is
 * a problem that the service defines.
 */
class Endpoint {
  #url: string;
  #token: () => string;
  #timeout: number;

  constructor(url: string, token: string | (() => string), timeout: number) {
    const parts = new URL(url);
    if (!/^https?:$/.test(parts.protocol) || parts.username || parts.password || parts.search || parts.hash) {
      throw new TypeError('The address of the service is http:// or https://, a host, and maybe a port and a path');
    }
    this.#url = `${parts.href.replace(/\/+$/, '')}/v1/project-logs/batch`;
    this.#token = typeof token === 'string' ? () => token : token;
    this.#timeout = timeout;
  }

  async send(entries: Entry[], stop: AbortSignal): Promise<Answer> {
    let token: string;
    try {
      token = this.#token();
      if (!/^[!-~]+$/.test(token)) {
        throw new TypeError('a token is made of visible ASCII characters');
      }
    } catch (cause) {
      // The application's code threw this. Its message may contain the token, so it is left out.
      return { kind: 'later', reason: `There is no token: ${cause instanceof Error ? cause.name : 'unknown'}` };
    }
    const limit = new AbortController();
    const end = () => limit.abort();
    const timer = setTimeout(end, this.#timeout);
    stop.addEventListener('abort', end);
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        redirect: 'manual',
        signal: limit.signal,
        headers: {
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
          Accept: 'application/json, application/problem+json',
        },
        body: Buffer.concat([
          Buffer.from('{"records":['),
          ...entries.flatMap(({ data }, index) => (index === 0 ? [data] : [Buffer.from(','), data])),
          Buffer.from(']}'),
        ]),
      });
      return Endpoint.#read(response, await Endpoint.#text(response), entries);
    } catch (cause) {
      const why = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause;
      return { kind: 'later', reason: `There is no answer: ${why}` };
    } finally {
      clearTimeout(timer);
      stop.removeEventListener('abort', end);
      // An answer that is not complete by now is cut off.
      limit.abort();
    }
  }

  static async #text(response: Response): Promise<string> {
    const parts: Uint8Array[] = [];
    let size = 0;
    const reader = response.body?.getReader();
    for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
      size += part.value.length;
      if (size > MAX_ANSWER) {
        throw new Error(`the answer has more than ${MAX_ANSWER} bytes`);
      }
      parts.push(part.value);
    }
    return Buffer.concat(parts).toString('utf8');
  }

  static #read(response: Response, text: string, entries: Entry[]): Answer {
    if (response.status === 200 || response.status === 201) {
      let at = 0;
      for (const { id } of entries) {
        at = text.indexOf(id, at);
        if (at < 0) {
          return { kind: 'later', reason: 'The answer does not name the records: this is not the service' };
        }
      }
      return { kind: 'stored' };
    }
    const reason = `Status ${response.status}: ${text.slice(0, LONGEST_REASON)}`;
    const problem = /"type"\s*:\s*"urn:annals:problem:([a-z-]+)"/.exec(text);
    const isOfService = response.headers.get('Content-Type')?.startsWith('application/problem+json');
    if (isOfService && problem && OF_RECORDS.includes(problem[1])) {
      const refused = new Map<number, string>();
      for (const pointer of text.matchAll(/"pointer"\s*:\s*"\/records\/(\d{1,9})[/"]/g)) {
        const index = Number(pointer[1]);
        if (index < entries.length && !refused.has(index)) {
          const start = Math.max(0, text.lastIndexOf('{', pointer.index));
          const end = text.indexOf('}', pointer.index);
          refused.set(index, text.slice(start, end < 0 ? undefined : end + 1).slice(0, LONGEST_REASON));
        }
      }
      return refused.size > 0 ? { kind: 'refused', refused } : { kind: 'split', reason };
    }
    // A proxy may take less than the service.
    if (response.status === 413 && entries.length > 1) {
      return { kind: 'split', reason };
    }
    const pause = response.headers.get('Retry-After') ?? '';
    return { kind: 'later', reason, pause: /^\d{1,9}$/.test(pause) ? Number(pause) * 1000 : undefined };
  }
}

/**
 * Sends records in order, many in one request, until the service has stored them. Each record has its id before the first
 * attempt, so it is stored once.
 */
export class AuditLog {
  #changed = new Signal();
  #options: Options;
  #endpoint: Endpoint;
  #spool: Spool | undefined;
  #buffer: Entry[] = [];
  #bytes = 0;
  #removed = 0;
  #counts = { appended: 0, stored: 0, refused: 0, turnedAway: 0, batches: 0, retries: 0 };
  #lastFailure = '';
  #failing = new Set<string>();
  #lastTick = 0n;
  #isClosed = false;
  #closing: Promise<boolean> | undefined;
  #stop = new AbortController();
  #work: Promise<unknown>;

  private constructor(url: string, token: string | (() => string), options: Options) {
    this.#options = options;
    this.#endpoint = new Endpoint(url, token, options.requestTimeout ?? 60_000);
    this.#spool = options.spool === undefined ? undefined : new Spool(options.spool, this.#changed, options);
    this.#work = Promise.all([this.#sendAll(), this.#writeSpool()]);
  }

  /** Starts the client. Records left in the spool are sent first. A token function is called before each request. */
  static open(url: string, token: string | (() => string), options: Options = {}): AuditLog {
    return new AuditLog(url, token, options);
  }

  /**
   * Takes a record. Throws a BufferFullError if the buffer is full, and a TypeError for an id that is no UUID. The service accepts
   * any other value: a value that it would refuse is cut, replaced, or moved into the metadata.
   */
  append(record: AuditRecord): Receipt {
    if (this.#isClosed) {
      throw new Error('The audit log is closed: the record was not taken');
    }
    const id = record.id === undefined ? this.#nextId() : record.id.toLowerCase();
    if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) {
      throw new TypeError(`An id is a UUID, not ${id}`);
    }
    const data = Buffer.from(writtenRecord(id, record));
    if (!this.#hasRoom(data.length)) {
      this.#counts.turnedAway++;
      throw new BufferFullError(`The buffer is full: ${this.#buffer.length} records, ${this.#bytes} bytes wait`);
    }
    const acknowledged = new Promise<void>((resolve, reject) => this.#buffer.push({ id, data, resolve, reject }));
    // An application that does not await the receipt still gets onRefusal.
    acknowledged.catch(() => {});
    this.#bytes += data.length + OVERHEAD;
    this.#counts.appended++;
    this.#changed.notify();
    return { id, acknowledged };
  }

  /** Waits until the buffer has room for another record; false if the timeout ends first. */
  room(milliseconds = 30_000): Promise<boolean> {
    return this.#changed.until(() => this.#hasRoom(MAX_SENT), milliseconds);
  }

  #hasRoom(size: number): boolean {
    const { bufferRecords = 10_000, bufferBytes = 1 << 25 } = this.#options;
    return this.#buffer.length < bufferRecords && this.#bytes + size + OVERHEAD <= Math.max(bufferBytes, 1 << 19);
  }

  /** A version 7 UUID: milliseconds, 12 bits of their fraction, 62 random bits; each greater than the one before. */
  #nextId(): string {
    const clock = BigInt(Math.floor((performance.timeOrigin + performance.now()) * 4096));
    this.#lastTick = clock > this.#lastTick ? clock : this.#lastTick + 1n;
    const time = (this.#lastTick >> 12n).toString(16).padStart(12, '0');
    const fraction = (this.#lastTick & 4095n).toString(16).padStart(3, '0');
    const random = randomBytes(8);
    random[0] = 0x80 | (random[0] & 0x3f);
    const rest = random.toString('hex');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${fraction}-${rest.slice(0, 4)}-${rest.slice(4)}`;
  }

  /** Waits until all records appended before this call are stored or refused; false if the timeout ends first. */
  async flush(milliseconds: number): Promise<boolean> {
    const end = performance.now() + milliseconds;
    const target = this.#counts.appended;
    const { signal } = this.#stop;
    await this.#changed.until(() => this.#removed >= target || signal.aborted, milliseconds);
    if (this.#removed < target) {
      return false;
    }
    const isSettled = this.#spool?.mark() ?? (() => true);
    await this.#changed.until(() => isSettled() || signal.aborted, Math.max(0, end - performance.now()));
    return isSettled();
  }

  /** The counters of this client. */
  metrics(): Metrics {
    return {
      ...this.#counts,
      bufferedRecords: this.#buffer.length,
      bufferedBytes: this.#bytes,
      spoolBytes: this.#spool?.bytes() ?? 0,
      lastFailure: this.#lastFailure,
    };
  }

  /**
   * Takes no more records and waits until the records taken are stored or refused; resolves with false if the timeout ends first.
   * Records that are not stored then stay in the spool for the next client; without a spool, onRefusal gets them. Further calls
   * resolve with the result of the first one.
   */
  close(milliseconds = 30_000): Promise<boolean> {
    this.#closing ??= this.#close(milliseconds);
    return this.#closing;
  }

  async #close(milliseconds: number): Promise<boolean> {
    this.#isClosed = true;
    const isSettled = await this.flush(milliseconds);
    this.#stop.abort();
    if (this.#spool) {
      this.#spool.stopped = true;
    }
    this.#changed.notify();
    await this.#work;
    for (const entry of this.#buffer) {
      const where = this.#spool ? 'written to the spool' : 'stored';
      try {
        this.#refuse(entry, `The client was closed before the record was ${where}. ${this.#lastFailure}`);
      } catch (cause) {
        console.error(`annals: record ${entry.id} is lost, as it could not be handed back: ${cause}`);
      }
    }
    this.#spool?.close();
    return isSettled;
  }

  #take(records: number, limit: number): Entry[] {
    let count = 0;
    for (let size = 0; count < this.#buffer.length && count < records; count++) {
      size += this.#buffer[count].data.length + 1;
      if (count > 0 && size > limit) {
        break;
      }
    }
    return this.#buffer.slice(0, count);
  }

  #remove(entries: Entry[]): void {
    this.#buffer.splice(0, entries.length);
    entries.forEach(({ data }) => (this.#bytes -= data.length + OVERHEAD));
    this.#removed += entries.length;
    this.#changed.notify();
  }

  async #writeSpool(): Promise<void> {
    const { signal } = this.#stop;
    while (this.#spool) {
      await this.#changed.until(() => this.#buffer.length > 0 || signal.aborted);
      // The records left at the end go to disk as well.
      if (this.#buffer.length === 0) {
        return;
      }
      const group = this.#take(GROUP_RECORDS, Math.min(GROUP_BYTES, (this.#options.segmentBytes ?? 1 << 24) / 2));
      try {
        if (!(await this.#spool.write(group))) {
          return;
        }
        this.#recovered('writing', 'the spool is written again');
        this.#remove(group);
        group.forEach((entry) => entry.resolve());
      } catch (cause) {
        this.#failed('writing', `The spool cannot be written: ${cause}`);
        if (await this.#changed.until(() => signal.aborted, 1_000)) {
          return;
        }
      }
    }
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const batch = await this.#next();
        if (batch === undefined || !(await this.#deliver(batch))) {
          return;
        }
        if (this.#spool) {
          this.#spool.settled();
        } else {
          this.#remove(batch);
        }
      } catch (cause) {
        this.#failed('sending', `The records cannot be read or settled: ${cause}`);
        await this.#changed.until(() => signal.aborted, this.#options.longestPause ?? 30_000);
      }
    }
  }

  async #next(): Promise<Entry[] | undefined> {
    if (this.#spool) {
      return this.#spool.next();
    }
    await this.#changed.until(() => this.#buffer.length > 0 || this.#stop.signal.aborted);
    const { batchRecords = 1_000, batchBytes = 900_000 } = this.#options;
    return this.#stop.signal.aborted
      ? undefined
      : this.#take(Math.min(batchRecords, 1_000), Math.min(batchBytes, 16_000_000));
  }

  async #deliver(batch: Entry[]): Promise<boolean> {
    const parts = [batch];
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const answer = await this.#attempt(part);
      if (answer.kind === 'stored') {
        this.#counts.stored += part.length;
        this.#counts.batches++;
        part.forEach((entry) => entry.resolve());
      } else if (answer.kind === 'refused') {
        const { refused } = answer;
        const left = part.flatMap((entry, index) => this.#unlessRefused(entry, refused.get(index)) ?? []);
        if (left.length > 0) {
          parts.push(left);
        }
      } else if (answer.kind === 'split' && part.length > 1) {
        parts.push(part.slice(part.length / 2), part.slice(0, part.length / 2));
      } else if (answer.kind === 'split') {
        this.#refuse(part[0], answer.reason);
      } else if (this.#stop.signal.aborted) {
        return false;
      } else {
        part.forEach((entry) => this.#refuse(entry, `Given up: ${answer.reason}`));
      }
    }
    return true;
  }

  /**
   * The record to send, or undefined if it is refused. The service decides which actions look like its own. A table in the client
   * could differ from the service's.
   */
  #unlessRefused(entry: Entry, reason: string | undefined): Entry | undefined {
    const left = reason === undefined ? entry : OF_ACTION.test(reason) ? renamed(entry) : undefined;
    if (left === undefined) {
      this.#refuse(entry, reason ?? '');
    }
    return left;
  }

  async #attempt(batch: Entry[]): Promise<Answer> {
    const { firstPause = 100, longestPause = 30_000, giveUpAfter = Infinity } = this.#options;
    const { signal } = this.#stop;
    const start = performance.now();
    for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
      const answer = await this.#endpoint.send(batch, signal);
      if (answer.kind !== 'later') {
        this.#recovered('sending', 'records are delivered again');
        return answer;
      }
      if (signal.aborted) {
        return answer;
      }
      this.#failed('sending', answer.reason);
      if (performance.now() - start >= giveUpAfter) {
        return answer;
      }
      // Clients that failed at the same time must not retry at the same time.
      const jittered = pause * (0.5 + Math.random() / 2);
      await this.#changed.until(() => signal.aborted, Math.min(Math.max(jittered, answer.pause ?? 0), longestPause));
      if (signal.aborted) {
        return answer;
      }
      this.#counts.retries++;
    }
  }

  #failed(what: string, reason: string): void {
    if (!this.#failing.has(what)) {
      this.#failing.add(what);
      console.warn(`annals: records wait, as they cannot be delivered now. ${reason}`);
    }
    this.#lastFailure = reason;
  }

  #recovered(what: string, message: string): void {
    if (this.#failing.delete(what)) {
      console.warn(`annals: ${message}`);
      if (this.#failing.size === 0) {
        this.#lastFailure = '';
      }
    }
  }

  #refuse(entry: Entry, reason: string): void {
    const refusal = { id: entry.id, json: entry.data.toString('utf8'), reason };
    let isHandled = false;
    if (this.#options.onRefusal) {
      try {
        this.#options.onRefusal(refusal);
        isHandled = true;
      } catch (cause) {
        console.error(`annals: the handler of refusals has failed: ${cause}`);
      }
    }
    if (!isHandled) {
      this.#spool?.keepRefused(refusal);
      console.error(`annals: record ${entry.id} is not stored. ${reason}`);
    }
    this.#counts.refused++;
    entry.reject(new RecordRefusedError(refusal));
  }
}
