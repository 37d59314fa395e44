import { Configuration, ProblemFromJSON, ProjectLogsApi, ResponseError, type AuditRecord } from 'annals-client';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

// Uses the generated client as an application would; any surprise ends it with an error.
const { ANNALS_URL, ANNALS_TOKEN } = process.env;
const logs = new ProjectLogsApi(new Configuration({ basePath: ANNALS_URL, accessToken: ANNALS_TOKEN }));
const cursorOf = (page: string) => new URL(page).searchParams.get('cursor') ?? undefined;

const timestamp = '2025-09-03T11:15:19.391447Z';
const records = [1, 2, 3, 4, 5].map((number) => ({
    id: randomUUID(),
    action: 'volume_create',
    actor: { type: 'user', name: 'jane@example.org' },
    ipAddress: '2001:db8::7',
    timestamp,
    metadata: { number },
}));
const appended = await logs.appendProjectLogBatch({ auditRecordBatch: { records } });
assert.deepEqual(
    appended.results.map(({ id, sequenceId }) => ({ id, sequenceId })),
    records.map(({ id }, i) => ({ id, sequenceId: i + 1 })),
);
assert.deepEqual(await logs.appendProjectLogBatch({ auditRecordBatch: { records } }), appended);

let page = await logs.listProjectLogs({ limit: 2 });
const read: AuditRecord[] = [...page.results];
while (page.next !== null) {
    page = await logs.listProjectLogs({ cursor: cursorOf(page.next), limit: 2 });
    read.push(...page.results);
}
assert.deepEqual(
    read.map(({ id, ipAddress, metadata, timestamp }) => ({ id, ipAddress, metadata, timestamp })),
    records.map(({ id, ipAddress, metadata, timestamp }) => ({ id, ipAddress, metadata, timestamp })),
);
assert.deepEqual(await logs.getProjectLog({ id: records[4]!.id }), read[4]);

assert.deepEqual((await logs.listProjectLogs({ cursor: cursorOf(page.pollMore) })).results, []);
const stored = await logs.appendProjectLog({ auditRecordInput: { action: 'login' } });
assert.equal(stored.sequenceId, 6);
assert.deepEqual((await logs.listProjectLogs({ cursor: cursorOf(page.pollMore) })).results, [stored]);

const lines = (await (await logs.exportProjectLogs()).text()).trimEnd().split('\n');
assert.equal(lines.length, 6);
assert.match(lines[5]!, /"login"/);

const refused = await logs
    .appendProjectLogBatch({ auditRecordBatch: { records: [{ action: '' }] } })
    .catch((failure: unknown) => failure);
assert.ok(refused instanceof ResponseError);
const problem = ProblemFromJSON(await refused.response.json());
assert.equal(refused.response.status, 422);
assert.equal(problem.type, 'urn:annals:problem:invalid-record');
assert.equal(problem.errors?.[0]?.pointer, '/records/0/action');
console.log('tour complete');
