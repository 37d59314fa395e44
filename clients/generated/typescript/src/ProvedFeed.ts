import { setTimeout as sleep } from 'node:timers/promises';
import { ProjectLogsApi, ProofsApi } from './apis/index.js';
import { AuditRecordFromJSON, type ProjectLogPage } from './models/index.js';
import * as proof from './proof.js';
import { type Configuration, ResponseError } from './runtime.js';

const LIMIT = 1_000;
const EPOCH = /\/log\/([1-9][0-9]{0,8})$/;
const EVENTS = 256;
const WAIT_SECONDS = 30;
const OLDER_TRIES = 20;
const BETWEEN_TRIES_MS = 500;

/**
 * The service sent records that its log has not signed, or the log does not continue the one seen before: records were
 * changed, removed, inserted or moved. Nothing was saved. Keep the store with its checkpoint, and ask the operator of
 * the service.
 */
export class FeedNotProved extends Error {
    override name = 'FeedNotProved';
}

/** The log does not have so many records yet. */
export class LogBehind extends ResponseError {}

/**
 * The pages of a feed whose log's key is known. Each checkpoint must continue the one before, and each page must match
 * the checkpoint. Records come from the text that was proved.
 */
export class ProvedFeed {
    private readonly logs: ProjectLogsApi;
    private readonly proofs: ProofsApi;
    private seen: proof.Checkpoint | undefined;
    /** Proved records, some of which report redactions. */
    private events: proof.ProvedRecord[] = [];
    /** Whether the service may lack records of the newest checkpoint. */
    private isBehind = true;

    private constructor(
        configuration: Configuration,
        private readonly keys: proof.Key[],
        private readonly epoch: number,
    ) {
        this.logs = new ProjectLogsApi(configuration);
        this.proofs = new ProofsApi(configuration);
    }

    static async begin(configuration: Configuration, vkeys: string[], checkpoint?: string): Promise<ProvedFeed> {
        const known = await Promise.all(vkeys.map(proof.parseKey));
        const newest = Math.max(0, ...known.map(epochOf));
        const logs = new Set(known.map((key) => key.name.replace(EPOCH, '')));
        if (newest === 0 || logs.size > 1 || known.some((key) => key.isWitness || epochOf(key) === 0)) {
            throw new Error('A log has one name, which ends with /log/ and a number: these are not its keys.');
        }
        const feed = new ProvedFeed(
            configuration,
            known.filter((key) => epochOf(key) === newest),
            newest,
        );
        // The newest epoch continues a checkpoint of an earlier one, or the log is forked.
        feed.seen = checkpoint === undefined ? undefined : await proof.openCheckpoint(checkpoint, known);
        return feed;
    }

    /** The note of the newest checkpoint that was verified. */
    get checkpoint(): string {
        return this.seen?.note ?? '';
    }

    /** The page after a cursor. It is empty if no further record can be proved after a while. */
    async read(cursor: string | undefined, signal?: AbortSignal): Promise<ProjectLogPage> {
        const place = cursor === undefined ? 0 : placeOf(cursor);
        let log = this.seen === undefined || this.isBehind || place >= this.seen.size ? await this.advance(signal) : this.seen;
        if (place >= log.size) {
            // This call only waits. Its records are read again, with a proof.
            await this.logs.listProjectLogs({ cursor, limit: 1, wait: WAIT_SECONDS }, { signal });
            log = await this.advance(signal);
        }
        if (place >= log.size) {
            await this.requireThatItGoesOn(signal);
            return { next: null, pollMore: `http://localhost/?cursor=${cursor ?? 0}`, results: [] };
        }
        return this.page(cursor, place, log, signal);
    }

    private async page(
        cursor: string | undefined,
        place: number,
        log: proof.Checkpoint,
        signal?: AbortSignal,
    ): Promise<ProjectLogPage> {
        // If the service cannot prove a page of this size, the next request asks for the newest checkpoint again.
        this.isBehind = true;
        const text = await this.pageText(cursor, LIMIT, log, signal);
        let redacted: proof.ProvedRecord[] = [];
        const page = await proved(`the records behind record ${place} are not those of the log`, async () => {
            const parsed = proof.parse(text);
            const { start, end, records } = await proof.provePage(parsed, log);
            const members = parsed as proof.Members;
            const next = members.get('next') ?? null;
            const pollMore = members.get('poll_more');
            const behind = new URL(next ?? pollMore).searchParams.get('cursor') ?? '';
            // Without a cursor, the page begins with the oldest record that has not expired.
            const lacksRecords = records.length === 0 && start < log.size;
            if (lacksRecords || (cursor !== undefined && start !== place) || end !== placeOf(behind)) {
                throw new Error('the page does not begin where it has to, or does not go on behind its last record');
            }
            redacted = records.filter((record) => record.redacted.length > 0);
            const results = members
                .get('results')
                .map((record: proof.Value) => AuditRecordFromJSON(JSON.parse(proof.canonical(record))));
            return { next, pollMore, results };
        });
        for (const record of redacted) {
            await this.requireNamed(record, signal);
        }
        this.isBehind = false;
        return page;
    }

    private pageText(cursor: string | undefined, limit: number, log: proof.Checkpoint, signal?: AbortSignal): Promise<string> {
        return told(async () => {
            const answer = await this.logs.listProjectLogsRaw({ cursor, limit, proof: log.size }, { signal });
            return answer.raw.text();
        });
    }

    /** Requires for each value removed from a record that a proved record of the log reports the redaction. */
    private async requireNamed(record: proof.ProvedRecord, signal?: AbortSignal): Promise<void> {
        let cursor: string | undefined;
        let open = proof.unnamed(record, this.events);
        while (open.length > 0) {
            const query = { action: proof.REDACT, subject: record.id, cursor };
            const page = await told(() => this.logs.listProjectLogs(query, { signal }));
            for (const event of page.results) {
                if (open.length > 0 && event.sequenceId > record.sequenceId) {
                    // Redactions of many records follow each other.
                    this.events = await this.recordsFrom(event.sequenceId, signal);
                    const left = proof.unnamed(record, this.events);
                    open = open.filter((field) => left.includes(field));
                }
            }
            cursor = page.next ? (new URL(page.next).searchParams.get('cursor') ?? undefined) : undefined;
            if (cursor === undefined) {
                break;
            }
        }
        if (open.length > 0) {
            throw new FeedNotProved(proof.notNamed(record, open).message);
        }
    }

    /** Proves a record and some after it. */
    private async recordsFrom(sequenceId: number, signal?: AbortSignal): Promise<proof.ProvedRecord[]> {
        let log = this.seen;
        for (let tries = 1; log === undefined || log.size < sequenceId; tries++) {
            if (tries > 1) {
                await this.requireThatItGoesOn(signal);
                await sleep(BETWEEN_TRIES_MS, undefined, { signal });
            }
            if (tries > OLDER_TRIES) {
                throw new FeedNotProved(`The log does not have record ${sequenceId}, which says what was redacted.`);
            }
            log = await this.advance(signal);
        }
        const checkpoint = log;
        const text = await this.pageText(String(sequenceId - 1), EVENTS, checkpoint, signal);
        return proved(`record ${sequenceId} is not the log's`, async () => {
            const { start, records } = await proof.provePage(proof.parse(text), checkpoint);
            if (start !== sequenceId - 1 || records.length === 0) {
                throw new Error('the page does not begin where it has to');
            }
            return records;
        });
    }

    /** Reads the newest checkpoint and requires that it continues the one before. */
    private async advance(signal?: AbortSignal): Promise<proof.Checkpoint> {
        for (let tries = 1; ; tries++) {
            const note = await told(() => this.proofs.getCheckpoint({ epoch: this.epoch }, { signal }));
            const newest = await proved('the newest checkpoint cannot be trusted', () =>
                proof.openCheckpoint(note, this.keys),
            );
            if (this.seen === undefined || newest.size >= this.seen.size) {
                if (this.seen !== undefined) {
                    await this.requireContinued(this.seen, newest, signal);
                }
                this.seen = newest;
                this.isBehind = false;
                return newest;
            }
            // Another instance may be a moment behind the one that signed.
            if (tries === OLDER_TRIES) {
                throw new FeedNotProved(
                    `The log has ${newest.size} records, and had ${this.seen.size}: its end was lost.`,
                );
            }
            await sleep(BETWEEN_TRIES_MS, undefined, { signal });
        }
    }

    private async requireContinued(before: proof.Tree, after: proof.Tree, signal?: AbortSignal): Promise<void> {
        let hashes: Uint8Array[] = [];
        if (before.size > 0 && before.size < after.size) {
            const sizes = { from: before.size, to: after.size };
            const answer = await told(() => this.proofs.proveConsistency(sizes, { signal }));
            hashes = await proved('what should prove that the log goes on does not', async () =>
                answer.hashes.map(proof.hashOf),
            );
        }
        if (!(await proof.isConsistent(before, after, hashes))) {
            throw new FeedNotProved(
                `The log of ${after.size} records does not continue that of ${before.size}, which was seen before:` +
                    ' records were changed, removed or inserted.',
            );
        }
    }

    /** A log that has ended does not grow any more. */
    private async requireThatItGoesOn(signal?: AbortSignal): Promise<void> {
        const log = await told(() => this.proofs.describeLog({ signal }));
        if (log.epoch !== this.epoch) {
            throw new FeedNotProved(
                `The log ${this.keys[0]?.name} has ended with ${this.seen?.size} records, and the service goes on with` +
                    ' another one and another key: its address /v1/project-logs/log says why. Get that key another way,' +
                    ' and add it: then the new log has to continue the one that you have.',
            );
        }
    }
}

/** The number of the log of a key; 0 if its name has none. */
function epochOf(key: proof.Key): number {
    return Number(EPOCH.exec(key.name)?.[1] ?? 0);
}

/** The number of records before a cursor. */
function placeOf(cursor: string): number {
    return Number(cursor.replace(/-.*/, ''));
}

/** Turns any failure of the check into FeedNotProved. */
async function proved<T>(otherwise: string, check: () => Promise<T>): Promise<T> {
    try {
        return await check();
    } catch (failure) {
        const why = failure instanceof Error ? failure.message : String(failure);
        throw new FeedNotProved(`${otherwise[0]?.toUpperCase()}${otherwise.slice(1)}: ${why}.`, { cause: failure });
    }
}

/** Sends a request and translates the problems that concern proofs. */
async function told<T>(ask: () => Promise<T>): Promise<T> {
    try {
        return await ask();
    } catch (failure) {
        if (failure instanceof ResponseError) {
            const problem = await failure.response
                .clone()
                .json()
                .catch(() => undefined);
            if (problem?.type === 'urn:annals:problem:log-forked') {
                throw new FeedNotProved(`The service says itself that its records are not those of the log: ${problem.detail}`);
            }
            if (problem?.type === 'urn:annals:problem:log-behind') {
                throw new LogBehind(failure.response, failure.message);
            }
        }
        throw failure;
    }
}
