// Appends numbers to the spool that is its first argument, from the second on, as many as the third says; prints each that is safe.
import { writeSync } from 'node:fs';
import { AuditLog } from './annals.js';

const [spool, first, count] = process.argv.slice(2);
const log = AuditLog.open(process.env.ANNALS_URL ?? '', process.env.ANNALS_TOKEN ?? '', {
  spool,
  segmentBytes: 1 << 20,
  spoolBytes: 4 << 20,
  bufferRecords: 1_000,
  firstPause: 10,
  longestPause: 500,
});
for (let number = Number(first); number < Number(first) + Number(count); number++) {
  await log.room();
  const { acknowledged } = log.append({
    action: 'append',
    actor: { type: 'user', id: 'u-1', name: 'Jane "J" Doe\n\0\ud800' },
    // The second of these two is refused.
    id: [6, 7].includes(number % 1_000_000)
      ? `00000000-0000-7000-8000-${String(Math.floor(number / 1_000_000)).padStart(12, '0')}`
      : undefined,
    ip_address: '192.0.2.1',
    metadata: { number },
  });
  acknowledged.then(() => writeSync(1, `${number}\n`));
}
while (!(await log.flush(60_000))) {
  console.error(log.metrics());
}
await log.close();
writeSync(1, 'done\n');
