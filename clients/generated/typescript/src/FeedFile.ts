import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import type { VerifiedFeedStore } from './FeedFollower.js';
import { type AuditRecord, AuditRecordToJSON } from './models/index.js';

/**
 * A copy of a feed in a file, one line per record (NDJSON). It holds every record once, in the feed's order, even if
 * the process or the machine dies. Only one process may use a copy.
 *
 * Next to `records.ndjson` there is `records.ndjson.cursor`, with the number of bytes of the copy that are valid, a
 * space, and the cursor after them; the lines below are the log's newest checkpoint, if it is verified. The file is
 * replaced in one step once the records are on disk. Anything that a crash left after those bytes is cut off at the next
 * start.
 */
export class FeedFile implements VerifiedFeedStore {
    private constructor(
        private readonly records: FileHandle,
        private readonly place: string,
        private length: number,
        private behind: string,
        private note: string,
    ) {}

    /** Opens a copy, or begins one if there is no file. Rejects if the file is not such a copy. */
    static async open(file: string): Promise<FeedFile> {
        const place = `${file}.cursor`;
        const records = await openOrCreate(file);
        try {
            const said = await readFile(place, 'utf8').catch(nothingIfMissing);
            const [, first, note] = /^(.*)\n?([^]*)$/.exec(said ?? '0 ') ?? [];
            const [length, behind] = (first ?? '').trimEnd().split(' ');
            const copy = new FeedFile(records, place, Number(length), behind ?? '', note ?? '');
            const { size } = await records.stat();
            if (size < copy.length || (said === undefined && size > 0)) {
                throw new Error(`${file} does not belong to ${place}. Restore both, or delete both.`);
            }
            await copy.keepPlace();
            await records.truncate(copy.length);
            return copy;
        } catch (failure) {
            await records.close();
            throw failure;
        }
    }

    async cursor(): Promise<string | undefined> {
        return this.behind || undefined;
    }

    async checkpoint(): Promise<string | undefined> {
        return this.note || undefined;
    }

    async save(records: AuditRecord[], cursor: string, checkpoint?: string): Promise<void> {
        const lines = Buffer.from(records.map((record) => JSON.stringify(AuditRecordToJSON(record)) + '\n').join(''));
        // A save that failed halfway may have left more than this one will overwrite.
        await this.records.truncate(this.length);
        let written = 0;
        while (written < lines.length) {
            const { bytesWritten } = await this.records.write(
                lines,
                written,
                lines.length - written,
                this.length + written,
            );
            written += bytesWritten;
        }
        await this.records.datasync();
        this.length += lines.length;
        this.behind = cursor;
        this.note = checkpoint ?? this.note;
        await this.keepPlace();
    }

    async close(): Promise<void> {
        await this.records.close();
    }

    private async keepPlace(): Promise<void> {
        const next = await open(`${this.place}.new`, 'w');
        try {
            await next.writeFile(`${this.length} ${this.behind}\n${this.note}`);
            await next.sync();
        } finally {
            await next.close();
        }
        await rename(`${this.place}.new`, this.place);
    }
}

async function openOrCreate(file: string): Promise<FileHandle> {
    return open(file, 'r+').catch((failure: NodeJS.ErrnoException) => {
        if (failure.code !== 'ENOENT') {
            throw failure;
        }
        return open(file, 'w+');
    });
}

function nothingIfMissing(failure: NodeJS.ErrnoException): undefined {
    if (failure.code !== 'ENOENT') {
        throw failure;
    }
}
