// Appends a record for each case of values.json to the spool that is its first argument: the fields that it gives, or a value.
import { readFileSync } from 'node:fs';
import { AuditLog, type AuditRecord } from './annals.js';

const raise = () => {
  throw new RangeError('no');
};
const cycle: Record<string, unknown> = {};
cycle.a = cycle;
const ring = new Map<string, unknown>();
ring.set('ring', [ring]);
const shared = [1];
class Money {
  #amount = 12;
  toString() {
    return `${this.#amount} EUR`;
  }
}
class Point {
  x = 1;
  get y() {
    return 2;
  }
}
class Itself extends Point {
  toJSON() {
    return this;
  }
}
class NotFound extends Error {
  override name = 'NotFound';
  code = 404;
}
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const form = new FormData();
form.append('a', '1');
form.append('a', '2');
const values: Record<string, unknown> = {
  url: new URL('https://a.example/x?y=1'),
  'search parameters': new URLSearchParams('a=1&a=2'),
  headers: new Headers({ Accept: 'text/plain' }),
  form,
  map: new Map<unknown, unknown>([[1, 1], ['1', 2], [{ a: 1 }, 3], [null, 4], [undefined, 5], [NaN, 6], [Symbol('s'), 7]]),
  set: new Set([1, 'a', new Set([2])]),
  error: new TypeError('no'),
  'error with cause': Object.assign(new Error('outer'), { cause: new TypeError('inner') }),
  'error without text': new RangeError(),
  'own error': new NotFound('x'),
  'error raises': Object.defineProperty(new Error('x'), 'name', { get: raise }),
  date: new Date(Date.UTC(2025, 0, 1)),
  'date with milliseconds': new Date(Date.UTC(2025, 0, 1, 0, 0, 0, 5)),
  'no date': new Date(NaN),
  'far date': new Date(8.64e15),
  bigint: 10n ** 30n,
  '401 digits': 10n ** 400n,
  '6000 digits': -(10n ** 6_000n),
  int8: new Int8Array([1, -2]),
  float64: new Float64Array([1.5, NaN]),
  bigint64: new BigInt64Array([-1n]),
  uint8: new Uint8Array([97, 98]),
  'part of a buffer': Buffer.from('xabx').subarray(1, 3),
  clamped: new Uint8ClampedArray([97, 98]),
  'data view': new DataView(new Uint8Array([97, 98]).buffer),
  'array buffer': new Uint8Array([97, 98]).buffer,
  'shared buffer': new SharedArrayBuffer(1),
  symbol: Symbol('s'),
  function: raise,
  class: Point,
  toJSON: { a: 1, toJSON: () => ({ b: [new Date(0)] }) },
  'toJSON raises': { toJSON: raise },
  'toJSON itself': new Itself(),
  'toJSON of nothing': { toJSON: () => undefined },
  'toJSON is a value': { toJSON: 1 },
  'getter raises': { get a() { return raise(); }, b: 1 },
  'proxy raises': new Proxy({}, { ownKeys: raise, getPrototypeOf: raise, get: raise }),
  'revoked proxy': revoked.proxy,
  'proxy of an array': new Proxy([1], {}),
  'negative zero': -0,
  NaN: NaN,
  infinity: -Infinity,
  large: 1e21,
  least: 5e-324,
  surrogate: '\ud800x',
  cyclic: cycle,
  ring,
  shared: [shared, shared],
  undefined: { a: undefined, b: [undefined, , 1] },
  'no prototype': Object.assign(Object.create(null), { a: 1 }),
  'keys with NUL': { 'a\0': 1, 'a\ufffd': 2, [Symbol('s')]: 3 },
  boxed: [new Number(1), new String('a'), new Boolean(false), Object(1n), Object(Symbol('s'))],
  'regular expression': /a/g,
  generator: (function* () { yield 1; })(),
  entries: new Map([[1, 2]]).entries(),
  iterable: { *[Symbol.iterator]() { yield 1; } },
  endless: { *[Symbol.iterator]() { for (;;) yield 'e'; } },
  'iterable raises': { *[Symbol.iterator]() { yield 1; raise(); } },
  '5000 fields': Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i])),
  promise: Promise.resolve(1),
  'weak map': new WeakMap(),
  'own text': new Money(),
  instance: new Point(),
  'no fields': new (class Empty {})(),
  'empty object': {},
  null: null,
};

interface Case {
  value?: string;
  given: Record<string, unknown>;
  repeat?: number;
}
const cases = JSON.parse(readFileSync('src/test/writer/values.json', 'utf8'));
const log = AuditLog.open(process.env.ANNALS_URL ?? '', process.env.ANNALS_TOKEN ?? '', { spool: process.argv[2] });
for (const { value, given, repeat } of [...cases.fields, ...cases.times, ...cases.typescript] as Case[]) {
  if (value === undefined) {
    const message = repeat === undefined ? given.message : String(given.message).repeat(repeat);
    log.append({ action: 'fields', ...given, message } as unknown as AuditRecord);
  } else if (value in values) {
    log.append({ action: 'value', metadata: { value: values[value] } });
    delete values[value];
  } else {
    throw new Error(`There is no value ${value}`);
  }
}
if (!(await log.close(60_000)) || Object.keys(values).length > 0) {
  throw new Error(`values.json has no case of ${Object.keys(values)}`);
}
process.exit(0);
