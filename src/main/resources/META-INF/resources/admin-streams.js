// Streams of the token's project: list, make, change, test, pause, rewind, delete, and their dead letters.

import {Problem, ask, askJson, isLink} from './api.js';
import {act, confirmName, facts, field, form, listed, numberField, since} from './admin-form.js';
import {line, make, records} from './text.js';

const PATH = 'v1/streams';
const REFRESH_MS = 5_000;
const STATES = {active: 'Delivering', paused: 'Paused', failing: 'Trying again', stopped: 'Stopped'};
const TESTED = {delivered: 'The sink took it', refused: 'The sink refused it', failed: 'It could not be sent'};
const TYPES = ['webhook', 'postgresql', 'kafka', 'otlp', 'syslog', 's3'].map((type) => [type, type]);
const FORMATS = ['json', 'cloudevents', 'ocsf', 'cef', 'splunk_hec', 'datadog', 'elastic', 'slack', 'teams', 'pagerduty']
  .map((format) => [format, format]);
const REFUSALS = [['stop', 'the stream stops'], ['dead_letter', 'the stream passes it by']];
/** The service's reason for a stop that one record caused. */
const REFUSED = /^The record ([1-9][0-9]*) was refused /;

const pathOf = ({name}, operation = '') => `${PATH}/${encodeURIComponent(name)}${operation && `/${operation}`}`;
const addressOf = ({name}) => `#streams/${encodeURIComponent(name)}`;

function reasonOf({state, stop_reason: stopReason, pause_reason: pauseReason, last_error: lastError}) {
  const reason = {stopped: stopReason, paused: pauseReason, failing: lastError}[state];
  return reason ? [make('p', {class: 'error'}, line(reason))] : [];
}

/** The link that set the stream, and the token that made the link. */
const linkOf = ({link}) => link && (isLink ? 'set by a link' : `set by link ${link.id} of token ${link.issued_by}`);

/** The state, as it is now. */
const stateOf = (stream) => [
  facts(`${records(Number(stream.lag))} behind`, `${records(Number(stream.delivered))} delivered`,
    stream.dead_letters > 0 && `${records(Number(stream.dead_letters))} passed by`, since('last', stream.delivered_at)),
  ...reasonOf(stream),
];

const item = (stream) => make('li', {'data-state': stream.state},
  make('h3', {}, make('a', {href: addressOf(stream)}, make('bdi', {}, line(stream.name))),
    make('span', {class: 'state'}, STATES[stream.state])),
  facts(line(stream.sink.url), stream.all_projects && 'all projects', linkOf(stream)),
  ...stateOf(stream));

/** The fields of a stream. @param stream null for a new one */
function fieldsOf(stream, isAdmin) {
  const isNew = stream === null;
  return [
    ...(isNew ? [field('Name', 'name', {required: '', maxlength: 128, pattern: '[A-Za-z0-9._\\-]+', title: 'Letters, digits, . _ -'})] : []),
    field('Type', 'sink/type', {options: TYPES, value: stream?.sink.type}),
    field('Address', 'sink/url', {value: stream?.sink.url ?? '', required: '', maxlength: 2048, wide: true, note: 'A URL without a password: it is shown. For slack and teams: https and the host alone.'}),
    field('Secret', 'sink/secret', {
      type: 'password', maxlength: 512, autocomplete: 'new-password',
      note: `${stream?.sink.has_secret ? 'Empty: it stays, with type and address. ' : ''}For slack and teams: the whole URL of the webhook.`,
    }),
    field('Format', 'format', {options: FORMATS, value: stream?.format}),
    field('Only records that match', 'q', {value: stream?.filter.q ?? '', maxlength: 1024, wide: true, placeholder: 'outcome:denied'}),
    field('If a record is refused', 'on_refusal', {options: REFUSALS, value: stream?.on_refusal}),
    numberField('After refusals', 'max_refusals', {value: stream?.max_refusals ?? 5, min: 1, max: 100}),
    ...(isNew ? [field('Begin behind this sequence id', 'cursor', {maxlength: 64, note: 'Empty: with the oldest record.'})] : []),
    ...(isNew && isAdmin ? [field('Records of all projects', 'all_projects', {type: 'checkbox'})] : []),
  ];
}

function bodyOf({name, 'sink/type': type, 'sink/url': url, 'sink/secret': secret, ...others}, stream) {
  const {q, ...filter} = stream?.filter ?? {};
  return {sink: {type, url, secret}, ...filter, ...(stream && {all_projects: stream.all_projects, archive: stream.archive}), ...others};
}

async function all({signal, caller}) {
  const {streams} = await askJson(PATH, {signal});
  const add = async (values) => {
    if (streams.some(({name}) => name === values.name)) {
      throw Object.assign(new Problem(0, ''), {errors: [{pointer: '/name', detail: 'A stream with this name exists.'}]});
    }
    const made = await askJson(pathOf(values), {method: 'PUT', body: bodyOf(values, null)});
    location.hash = addressOf(made);
  };
  return [
    make('h2', {}, 'All streams'),
    ...(streams.length === 0 ? [make('p', {class: 'note'}, 'None.')] : [make('ul', {class: 'cards'}, ...streams.map(item))]),
    make('h2', {}, 'Make a stream'),
    form(fieldsOf(null, caller.scopes.includes('admin')), 'Make the stream', add),
  ];
}

/** @param feed the project whose feed is meant; null for that of the stream */
const letter = (stream, feed, done) => (dead) => make('li', {},
  make('h3', {}, feed === null && !isLink
    ? make('a', {href: `./#record=${dead.record_id}`}, `Record ${dead.sequence_id}`)
    : `Record ${dead.sequence_id}`),
  make('p', {}, make('bdi', {}, line(dead.reason))),
  facts(since('refused', dead.refused_at)),
  make('div', {class: 'acting'}, act('Deliver again from here', () => rewind(stream, dead.sequence_id - 1, feed, done))));

async function rewind(stream, cursor, feed, done) {
  await askJson(pathOf(stream, 'rewind'), {method: 'POST', body: {cursor: String(cursor), ...(feed !== null && {project_id: feed})}});
  await done('The stream goes on from there.');
}

const letters = (stream, feed, {signal, done}) =>
  listed(pathOf(stream, `dead-letters${feed === null ? '' : `?project_id=${feed}`}`), 'dead_letters', letter(stream, feed, done),
    {signal, none: 'None.'});

/** A stream of all projects has dead letters of each feed, which are read when they are asked for. */
const feedItem = (stream, page) => (feed) => {
  const found = make('div');
  return make('li', {},
    make('h3', {}, `Project ${feed.project_id}`),
    facts(`${records(Number(feed.lag))} behind`, `${records(Number(feed.delivered))} delivered`),
    ...(feed.last_error && feed.failures > 0 ? [make('p', {class: 'error'}, line(feed.last_error))] : []),
    ...(feed.dead_letters > 0
      ? [act('Show its dead letters', async () => found.replaceChildren(...await letters(stream, feed.project_id, page)))]
      : []),
    found);
};

function operations(stream, {signal, done}) {
  const answer = make('p', {role: 'status'});
  const test = async () => {
    answer.textContent = 'A record is on its way …';
    try {
      const {outcome, answer: text} = await askJson(pathOf(stream, 'test'), {signal, method: 'POST'});
      answer.textContent = `${TESTED[outcome]}: ${line(text)}`;
    } catch (problem) {
      answer.textContent = '';
      throw problem;
    }
  };
  const run = (operation, text) => async () => {
    await askJson(pathOf(stream, operation), {method: 'POST'});
    await done(text);
  };
  const remove = async () => {
    if (await confirmName('Delete the stream?', 'Its place and its dead letters are lost.', stream.name, 'Delete the stream')) {
      await ask(pathOf(stream), {method: 'DELETE'});
      location.hash = '#streams';
    }
  };
  const isGoing = stream.state === 'active' || stream.state === 'failing';
  const refused = stream.all_projects ? null : REFUSED.exec(stream.stop_reason ?? '');
  return [
    make('div', {class: 'acting'},
      act('Send a test record', test),
      ...(isGoing ? [act('Pause', run('pause', 'The stream is paused.'))] : []),
      ...(stream.state === 'active' ? [] : [
        act(stream.state === 'paused' ? 'Resume' : 'Try again now', run('resume', 'The stream goes on.')),
      ]),
      ...(refused ? [act(`Skip record ${refused[1]}`, () => rewind(stream, refused[1], null, done))] : []),
      act('Delete …', remove, {class: 'danger'})),
    answer,
  ];
}

/** Keeps a stream's state up to date while it is shown. */
function follow(stream, box, signal) {
  const timer = setInterval(async () => {
    const now = await askJson(pathOf(stream), {signal}).catch(() => null);
    if (now !== null && !signal.aborted) {
      box.replaceChildren(make('p', {class: 'state'}, STATES[now.state]), ...stateOf(now));
    }
  }, REFRESH_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
}

async function one(name, page) {
  const {signal, done, caller} = page;
  const stream = await askJson(pathOf({name}), {signal});
  const state = make('div', {}, make('p', {class: 'state'}, STATES[stream.state]), ...stateOf(stream));
  follow(stream, state, signal);
  const change = async (values) => {
    await askJson(pathOf(stream), {method: 'PUT', body: bodyOf(values, stream)});
    await done('The stream is changed.');
  };
  return [
    facts(line(stream.sink.url), stream.all_projects && 'all projects', stream.archive && 'archive', linkOf(stream), since('made', stream.created_at)),
    state,
    ...operations(stream, page),
    make('h2', {}, 'Dead letters'),
    ...(stream.all_projects
      ? await listed(pathOf(stream, 'feeds'), 'feeds', feedItem(stream, page), {signal, none: 'None.'})
      : await letters(stream, null, page)),
    make('p', {class: 'note'}, 'Delivering again sends that record and all later ones. A dead letter stays listed.'),
    make('h2', {}, 'Change'),
    form(fieldsOf(stream, caller.scopes.includes('admin')), 'Change the stream', change),
    make('h2', {}, 'Another place'),
    form([field('Go on behind this sequence id', 'cursor', {required: '', maxlength: 64, note: '0: all records again.'})], 'Rewind',
      ({cursor}) => rewind(stream, cursor, null, done)),
  ];
}

/** @param path empty for all streams, else a stream's name */
export async function show({path: [name], ...page}) {
  return name === undefined ? {nodes: await all(page)} : {title: line(name), nodes: await one(name, page)};
}
