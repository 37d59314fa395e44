// Runs the cases of conformance.json in spools of the folder that is its first argument; prints what each close returned.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuditLog, type AuditRecord } from './annals.js';

interface Case {
  records: AuditRecord[];
  options?: { batch?: number; longest_pause?: number };
  close?: number;
}

const url = process.env.ANNALS_URL ?? '';
const token = process.env.ANNALS_TOKEN ?? '';
const cases: Case[] = JSON.parse(readFileSync('clients/conformance.json', 'utf8')).cases;
for (const [number, { records, options, close }] of cases.entries()) {
  const spool = join(process.argv[2], String(number));
  const away = AuditLog.open(`${url}/away`, token, { spool, longestPause: 3_600_000 });
  records.forEach((record) => away.append(record));
  await away.close(0);
  const log = AuditLog.open(`${url}/${number}`, token, {
    spool,
    batchRecords: options?.batch,
    firstPause: 1,
    longestPause: options?.longest_pause ?? 20,
  });
  console.log(await log.close(close ?? 60_000));
}
