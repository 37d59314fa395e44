// Does what each line of its input says, and prints what comes of it. Its arguments are a spool or "-", the size of the buffer, and
// "handler" or "file".
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { AuditLog, BufferFullError } from './annals.js';

const [spool, bufferRecords, refusals] = process.argv.slice(2);
const say = (text: string) => writeSync(1, `${text}\n`);
const log = AuditLog.open(process.env.ANNALS_URL ?? '', process.env.ANNALS_TOKEN ?? '', {
  spool: spool === '-' ? undefined : spool,
  bufferRecords: Number(bufferRecords),
  firstPause: 1,
  longestPause: 20,
  onRefusal: refusals === 'handler' ? ({ json }) => say(`handed back ${json}`) : undefined,
});

function append(action: string): void {
  try {
    const { id, acknowledged } = log.append({ action });
    say(`taken ${action} ${id}`);
    acknowledged.then(
      () => say(`acknowledged ${action}`),
      () => say(`refused ${action}`),
    );
  } catch (cause) {
    if (!(cause instanceof BufferFullError)) {
      throw cause;
    }
    say(`full ${action}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [step, argument] = line.split(' ');
  if (step === 'append') {
    append(argument);
  } else if (step === 'flush') {
    say(`flushed ${await log.flush(Number(argument))}`);
  } else if (step === 'end') {
    // As one that is killed once it is back.
    process.exit((await log.close(Number(argument))) ? 0 : 3);
  } else {
    say(`closed ${await log.close(Number(argument))}`);
  }
}
// As an application ends that does not close it.
process.exit(0);
