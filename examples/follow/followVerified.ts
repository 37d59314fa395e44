import { Configuration, FeedFollower } from 'annals-client';
import { FeedFile } from 'annals-client/FeedFile';

const { ANNALS_URL, ANNALS_TOKEN, ANNALS_VKEY = '' } = process.env;
const service = new Configuration({ basePath: ANNALS_URL, accessToken: ANNALS_TOKEN });
const copy = await FeedFile.open('records.ndjson');
const follower = await FeedFollower.verifying(service, copy, ...ANNALS_VKEY.split(' '));
await follower.run({ pause: 100 });
