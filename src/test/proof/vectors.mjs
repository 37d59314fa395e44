// Runs a verifier against the vectors of docs/leaf-format.md: node vectors.mjs proof.mjs leaf-vectors.json

import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import {pathToFileURL} from 'node:url';

const [verifier, vectors] = process.argv.slice(2);
const {
  NotProved, base64, canonical, includes, isConsistent, openCheckpoint, parse, parseKey, provePage, proveRecord, provedRecord,
  rootAround,
} = await import(pathToFileURL(verifier));
const given = JSON.parse(await readFile(vectors, 'utf8'));

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, 'hex'));
const hex = (hash) => Buffer.from(hash).toString('hex');
const refused = (promise, message) => assert.rejects(promise, (error) => error instanceof NotProved && message.test(error.message));
const seeded = ({record, seed}) => `${record.slice(0, -1)}, "seed": "${seed}"}`;
const leaves = given.records.map(({leaf}) => bytes(leaf));
const roots = new Map(given.roots.map(({size, root}) => [size, bytes(root)]));

for (const {json, canonical: text} of given.canonical) {
  assert.equal(canonical(parse(json)), text);
  assert.equal(canonical(parse(text)), text);
}
const deep = (levels) => '['.repeat(levels) + ']'.repeat(levels);
assert.equal(canonical(parse(deep(200))), deep(200));
for (const json of [...given.refused, deep(202), '{"a":1,}', '[1,]', '[,1]', '{,}', '+1', '.5', '1.', "'a'", '"\t"', 'nul', '"a']) {
  assert.throws(() => canonical(parse(json)), NotProved, json);
}

for (const vector of given.records) {
  assert.equal(hex((await provedRecord(parse(seeded(vector)))).entry), vector.entry);
}
assert.equal(hex((await provedRecord(parse(given.redacted.record))).entry), given.redacted.entry);
for (const more of ['"colour": 1', '"actor": {"role": "x"}', '"salts": {}', '"redacted": {}']) {
  await refused(provedRecord(parse(`{${more}, ${seeded(given.records[0]).slice(1)}`)), /field|seed/);
}
const changed = [
  [/"salts": \{/, '"salts": {"message": "Z51KWvlUiHdKSJVilHLt3w", '],
  [/"redacted": \{/, '"redacted": {"action": "Tf1tXVhxDt4G3x98ug30iEA3M7NAKE66fb-8fUY2aDw", '],
  [/"redacted": \{/, '"redacted": {"colour": "Tf1tXVhxDt4G3x98ug30iEA3M7NAKE66fb-8fUY2aDw", '],
  [/Z51KWvlUiHdKSJVilHLt3w/, 'Z51KWvlUiHdKSJVilHLt3x'],
  [/_4_58/, '/4_58'],
];
for (const [what, other] of changed) {
  await refused(provedRecord(parse(given.redacted.record.replace(what, other))), /salts|redacted|base64url/);
}

for (const [size, root] of roots) {
  assert.deepEqual(await rootAround([], 0, leaves.slice(0, size), [], size), root);
}
for (const {index, size, path} of given.inclusion) {
  const hashes = path.map(bytes);
  assert.ok(await includes(leaves[index], index, size, hashes, roots.get(size)));
  assert.ok(!(await includes(leaves[index], index + 1, size, hashes, roots.get(size))));
  assert.ok(!(await includes(leaves[(index + 1) % 13], index, size, hashes, roots.get(size))));
  assert.ok(!(await includes(leaves[index], index, size, [...hashes, leaves[0]], roots.get(size))));
}
for (const {from, to, path} of given.consistency) {
  const [before, after] = [from, to].map((size) => ({size, root: roots.get(size)}));
  assert.ok(await isConsistent(before, after, path.map(bytes)), `${from} ${to}`);
  assert.ok(!(await isConsistent({size: from, root: leaves[12]}, after, path.map(bytes))));
  assert.ok(!(await isConsistent(before, {size: to, root: leaves[12]}, path.map(bytes))));
  assert.ok(!(await isConsistent(before, after, [...path.map(bytes), leaves[0]])));
  assert.ok(from === to || !(await isConsistent(after, before, path.map(bytes))));
}

const {log, page} = given;
const key = await parseKey(log.vkey);
const checkpoint = await openCheckpoint(log.checkpoint, [key]);
assert.equal(checkpoint.origin, log.origin);
await refused(parseKey(log.vkey.replace('+d3', '+d4')), /has the id/);
await refused(openCheckpoint(log.checkpoint.replace('\n13\n', '\n14\n'), [key]), /does not hold/);
await refused(openCheckpoint(log.checkpoint.replaceAll('log/1', 'log/2'), [key]), /no key is known/);
await refused(openCheckpoint(log.checkpoint.replace(/06SH/, '07SH'), [key]), /no key of .* has signed/);
await refused(openCheckpoint(log.checkpoint.slice(0, -1), [key]), /no signed note/);

const hashes = (some) => JSON.stringify(some.map((one) => base64(bytes(one))));
const written = (records, start = page.start) =>
  `{"next": null, "results": [${records}], "proof": {"start": ${start}, "end": ${start + records.length},` +
  ` "left": ${hashes(page.left)}, "right": ${hashes(page.right)}}}`;
const results = given.records.slice(page.start, page.end).map(seeded);
const proved = await provePage(parse(written(results)), checkpoint);
assert.deepEqual(proved.records.map(({sequenceId}) => sequenceId), [5, 6, 7, 8, 9]);
const swapped = [results[1], results[0], ...results.slice(2)];
await refused(provePage(parse(written(swapped)), checkpoint), /its place is/);
await refused(provePage(parse(written(results.slice(1))), checkpoint), /its place is/);
await refused(provePage(parse(written(results.slice(0, -1))), checkpoint), /more or fewer hashes/);
const forged = results.map((record, i) => (i === 2 ? record.replace(/"action": "/, '"action": "x') : record));
await refused(provePage(parse(written(forged)), checkpoint), /are not those of the log/);

assert.equal((await proveRecord(log.proof, [key])).proved.sequenceId, 2);
const extra = (change) =>
  log.proof.replace(/extra (.*)/, (line, text) => `extra ${btoa(change(atob(text)))}`);
assert.equal(extra((record) => record), log.proof);
await refused(proveRecord(extra((record) => record.replace('success', 'failure')), [key]), /does not have record/);
await refused(proveRecord(log.proof.replace('index 1\n', 'index 2\n'), [key]), /sequence id/);
await refused(proveRecord(log.proof.replace('\n13\n', '\n14\n'), [key]), /does not hold/);
await refused(proveRecord(log.proof.replace('tlog-proof@v1', 'tlog-proof@v2'), [key]), /no proof/);

// A witness: C2SP tlog-cosignature.
const pair = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
const raw = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
const name = 'witness.example.org';
const typed = Buffer.concat([Buffer.of(4), raw]);
const id = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.concat([Buffer.from(`${name}\n`), typed]))).subarray(0, 4);
const witness = await parseKey(`${name}+${id.toString('hex')}+${typed.toString('base64')}`);
const body = log.checkpoint.slice(0, log.checkpoint.lastIndexOf('\n\n') + 1);
const cosigned = async (time, of = body) => {
  const stamp = Buffer.alloc(8);
  stamp.writeBigUInt64BE(time);
  const signature = await crypto.subtle.sign('Ed25519', pair.privateKey, Buffer.from(`cosignature/v1\ntime ${time}\n${of}`));
  return `${log.checkpoint}— ${name} ${Buffer.concat([id, stamp, Buffer.from(signature)]).toString('base64')}\n`;
};
const note = await cosigned(1_780_000_000n);
assert.equal((await openCheckpoint(note, [key, witness])).witnesses, 1);
assert.equal((await openCheckpoint(note, [key])).witnesses, 0);
assert.equal((await openCheckpoint(log.checkpoint, [key, witness])).witnesses, 0);
await refused(openCheckpoint(await cosigned(1_780_000_000n, `${body}x\n`), [key, witness]), /does not hold/);
await refused(openCheckpoint(note, [witness]), /no key is known/);

console.log('all vectors hold');
