import { Configuration, FeedFollower, ProjectLogsApi } from 'annals-client';
import { FeedFile } from 'annals-client/FeedFile';

const { ANNALS_URL, ANNALS_TOKEN } = process.env;
const logs = new ProjectLogsApi(new Configuration({ basePath: ANNALS_URL, accessToken: ANNALS_TOKEN }));
const copy = await FeedFile.open('records.ndjson');
const follower = new FeedFollower((cursor) => logs.listProjectLogs({ cursor, limit: 1000 }), copy);
await follower.run({ pause: 1000 });
