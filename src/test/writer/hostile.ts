// Appends as many records of hostile values as its second argument says, to the spool that is its first.
import { request } from 'node:http';
import { AuditLog, type AuditRecord } from './annals.js';

const cycle: Record<string, unknown> = {};
Object.assign(cycle, { a: cycle, b: new Map([['c', cycle]]), c: [cycle] });
let shared: unknown[] = [];
let deep: unknown[] = [];
for (let i = 0; i < 10_000; i++) {
  shared = i < 30 ? [shared, shared] : shared;
  deep = [deep];
}
const http = request('http://127.0.0.1:9');
http.on('error', () => {});
const raise = () => {
  throw new RangeError('no');
};
const texts = [
  '', '\0', '\ud800x', 'x'.repeat(100_000), '\u0001'.repeat(70_000), 'é😀'.repeat(40_000), 'fe80::1%eth0', '203.0.113.9:52341',
  '[2001:db8::1]:443', 'unknown', '1:2:3:4:5:6:7::8', '0900-01-01T00:00:00Z', '2025-02-30T00:00:00Z', 'annals.x',
];
const values: unknown[] = [
  cycle, shared, deep, http, new URL('http://a/'), new Set([1]), new Error('\0'), new Date(NaN), new Date(-8.64e15), 10n ** 401n,
  -(10n ** 6_000n), Infinity, 5e-324, Number.MAX_VALUE, Array(4_000).fill(1e300), Array(2 ** 32 - 1), new Float64Array(9_000),
  new Uint8Array(100_000), { toJSON: raise }, { toJSON: () => cycle }, { get a() { return raise(); } }, Symbol('s'), raise,
  new Proxy({}, { ownKeys: raise, getPrototypeOf: raise, get: raise }), { *[Symbol.iterator]() { for (;;) yield 1; } },
  Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i])), { 'a\0': 1, 'a\ufffd': 2, ['k'.repeat(99_999)]: 3 },
  new Map<unknown, unknown>([[1, 1], ['1', 2], [{}, 3], [null, 4]]), null, undefined, ...texts,
];
let seed = 1;
const below = (end: number) => (seed = (seed * 48_271) % 2_147_483_647) % end;
const draw = () => values[below(values.length)];
const party = () => [undefined, {}, draw(), { type: draw(), id: draw(), name: draw(), other: draw() }][below(4)];

const log = AuditLog.open(process.env.ANNALS_URL ?? '', process.env.ANNALS_TOKEN ?? '', { spool: process.argv[2] });
for (let i = 0; i < Number(process.argv[3]); i++) {
  await log.room();
  log.append({
    action: draw(), actor: party(), subject: party(), outcome: draw(), ip_address: draw(), message: draw(), timestamp: draw(),
    metadata: below(2) ? { a: draw(), b: draw() } : draw(), number: [undefined, { sequence: 'a b' }, 1][below(3)], [`x${i}`]: 1,
  } as unknown as AuditRecord);
}
await log.close(120_000);
process.exit(0);
