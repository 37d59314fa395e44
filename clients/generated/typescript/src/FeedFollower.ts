import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditRecord, ProjectLogPage } from './models/index.js';
import { LogBehind, ProvedFeed } from './ProvedFeed.js';
import { type Configuration, FetchError, ResponseError } from './runtime.js';

export { FeedNotProved } from './ProvedFeed.js';

const LONGEST_WAIT_MS = 30_000;

/** Stores the records together with the cursor. */
export interface FeedStore {
    /** The cursor that was saved last; undefined if there is none. */
    cursor(): Promise<string | undefined>;

    /**
     * Saves the cursor and the effect of the records: both or neither, and durably before it resolves. The records are
     * in the feed's order; there may be none.
     */
    save(records: AuditRecord[], cursor: string): Promise<void>;
}

/** A store that also keeps the newest checkpoint of the log, in the same step. */
export interface VerifiedFeedStore extends FeedStore {
    /** The checkpoint that was saved last; undefined if there is none. */
    checkpoint(): Promise<string | undefined>;

    /**
     * Saves the cursor, the effect of the records, and the checkpoint, a text of a few hundred characters or a few
     * thousand: all or nothing, and durably before it resolves.
     */
    save(records: AuditRecord[], cursor: string, checkpoint?: string): Promise<void>;
}

/**
 * Follows a feed from the cursor of a store, and hands it page after page, in the feed's order.
 *
 * Each `save` gets exactly the records after the cursor of the last save that succeeded. A store that saves the cursor
 * and the effect of the records in one step, such as a `FeedFile` or a database in one transaction, takes every record
 * exactly once, even if its process dies. A store that saves them in two steps may get the records of its last page
 * again, in the same order; their sequence ids show it.
 *
 * Use one follower per store. Not for `order=desc`.
 */
export class FeedFollower {
    /**
     * @param read reads a page: `listProjectLogs` with this cursor, and always the same limit and filters
     */
    constructor(
        private readonly read: (cursor: string | undefined, signal?: AbortSignal) => Promise<ProjectLogPage>,
        private readonly store: FeedStore,
    ) {}

    /**
     * A follower that passes on only records that the log proves: the log has signed these records in this order, none
     * is left out, and the log continues the one that this store has seen before. Otherwise `step` and `run` reject with
     * `FeedNotProved`. At the end of the feed a step waits for a record, up to 30 seconds.
     *
     * @param vkeys the log's key, which came another way than what is verified with it; two while the operator
     *     replaces it
     */
    static async verifying(
        configuration: Configuration,
        store: VerifiedFeedStore,
        ...vkeys: string[]
    ): Promise<FeedFollower> {
        const feed = await ProvedFeed.begin(configuration, vkeys, await store.checkpoint());
        return new FeedFollower((cursor, signal) => feed.read(cursor, signal), {
            cursor: () => store.cursor(),
            save: (records, cursor) => store.save(records, cursor, feed.checkpoint),
        });
    }

    /** Reads one page and saves it. Resolves to whether there is more already. */
    async step(signal?: AbortSignal): Promise<boolean> {
        const cursor = await this.store.cursor();
        const page = await this.read(cursor, signal);
        const behind = new URL(page.next ?? page.pollMore).searchParams.get('cursor');
        if (behind === null) {
            throw new Error(`A page's link has no cursor: ${page.pollMore}`);
        }
        if (page.results.length > 0 || behind !== cursor) {
            await this.store.save(page.results, behind);
        }
        return page.next !== null;
    }

    /**
     * Follows the feed until the signal aborts, between two pages. If the service cannot be reached or is not
     * available, it is asked again: after the time it names, otherwise after a growing pause of at most 30 seconds. Any
     * other problem, such as `feed-rewound`, needs your decision, and rejects.
     *
     * @param options `pause` between polls at the end of the feed, in milliseconds
     */
    async run(options: { pause: number; signal?: AbortSignal }): Promise<void> {
        let wait = options.pause;
        while (!options.signal?.aborted) {
            try {
                const more = await this.step(options.signal);
                wait = options.pause;
                if (more) {
                    continue;
                }
            } catch (failure) {
                if (options.signal?.aborted) {
                    return;
                }
                if (!isPassing(failure)) {
                    throw failure;
                }
                wait = waitAfter(failure, wait);
            }
            // An aborted pause ends the loop by its condition.
            await sleep(wait, undefined, { signal: options.signal }).catch(() => undefined);
        }
    }
}

function isPassing(failure: unknown): boolean {
    return (
        failure instanceof FetchError ||
        failure instanceof LogBehind ||
        // fetch reports this if a connection breaks within a body.
        (failure instanceof TypeError && failure.message === 'terminated') ||
        (failure instanceof ResponseError && [502, 503, 504].includes(failure.response.status))
    );
}

function waitAfter(failure: unknown, before: number): number {
    const asked = failure instanceof ResponseError ? failure.response.headers.get('Retry-After') : null;
    return Math.min(asked !== null && /^\d+$/.test(asked) ? Number(asked) * 1000 : before * 2 + 100, LONGEST_WAIT_MS);
}
