// Appends a record, reads it, and polls, with a client that openapi-generator makes without options.
import { Configuration, ProjectLogsApi } from './index';

async function main(): Promise<void> {
  const logs = new ProjectLogsApi(
    new Configuration({ basePath: process.env.ANNALS_URL, accessToken: process.env.ANNALS_TOKEN }),
  );
  await logs.appendProjectLog({ auditRecordInput: { action: 'volume_create' } });
  const page = await logs.listProjectLogs({});
  const cursor = new URL(page.pollMore).searchParams.get('cursor') ?? undefined;
  console.log(page.results[0].action, (await logs.listProjectLogs({ cursor })).results.length);
}

void main();
