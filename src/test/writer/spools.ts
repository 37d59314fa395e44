// Sends what is in each spool of the folder that is its first argument; prints what each close returned.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AuditLog } from './annals.js';

for (let number = 0; existsSync(join(process.argv[2], String(number))); number++) {
  const spool = join(process.argv[2], String(number));
  const log = AuditLog.open(`${process.env.ANNALS_URL}/${number}`, process.env.ANNALS_TOKEN ?? '', { spool });
  console.log(await log.close(60_000));
}
