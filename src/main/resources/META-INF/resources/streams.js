// The project's streams, which deliver its records, and the way to the administration, for readers who may see them.

import {askJson, isLink, portal, token} from './api.js';
import {mayStream} from './look.js';
import {button, byId, line, make, records} from './text.js';

const REFRESH_MS = 5_000;
const LOOK_MS = 60_000;
const SCOPES = ['stream', 'admin'];
/** The button shows the last of them in which a stream is. */
const STATES = ['active', 'paused', 'failing', 'stopped'];
const TESTED = {delivered: 'took a test record', refused: 'refused a test record', failed: 'could not be sent a test record'};
const TEXTS = {active: 'Delivering', paused: 'Paused', failing: 'Trying again', stopped: 'Stopped'};

let timer = null;
let session = new AbortController();

/**
 * For readers who may see streams: shows the way to the administration, and the streams' button if the project has any, which is kept
 * up to date.
 */
export async function begin() {
  end();
  session = new AbortController();
  const {signal} = session;
  if (await maySee(signal) && !signal.aborted) {
    byId('administration').hidden = isLink && portal === null;
    byId('administration').textContent = isLink ? 'Manage streams' : 'Administration';
    look(signal);
  }
}

async function maySee(signal) {
  if (isLink) {
    return mayStream();
  }
  const {scopes} = await askJson('v1/whoami', {signal}).catch(() => ({scopes: []}));
  return scopes.some((scope) => SCOPES.includes(scope));
}

/** Hands the link on: where the page is in a frame, nothing is stored. */
export function administer(click) {
  if (portal !== null) {
    click.preventDefault();
    location.assign(`admin.html?project=${portal}#token=${token}`);
  }
}

export function end() {
  session.abort();
  clearTimeout(timer);
  byId('streams').close();
  byId('streams-answer').textContent = '';
  byId('streams-state').hidden = true;
  byId('administration').hidden = true;
}

async function look(signal) {
  clearTimeout(timer);
  try {
    draw((await askJson('v1/streams', {signal})).streams);
  } catch (problem) {
    if (signal.aborted) {
      return;
    }
    byId('streams-error').textContent = `This may be old: ${problem.message}`;
  }
  timer = setTimeout(look, byId('streams').open ? REFRESH_MS : LOOK_MS, signal);
}

/** Opens the list, and reads it anew. */
export function open() {
  byId('streams').showModal();
  byId('streams-title').focus();
  look(session.signal);
}

function draw(streams) {
  const worst = STATES[Math.max(0, ...streams.map(({state}) => STATES.indexOf(state)))];
  byId('streams-error').textContent = '';
  byId('streams-state').hidden = streams.length === 0;
  byId('streams-state').dataset.state = worst;
  byId('streams-state').setAttribute('aria-label', `Streams: ${TEXTS[worst].toLowerCase()}`);
  byId('streams-text').textContent = worst === 'active' ? 'Streams' : `Streams: ${TEXTS[worst].toLowerCase()}`;
  const focused = document.activeElement.dataset.stream;
  byId('streams-list').replaceChildren(...streams.map(item));
  if (focused !== undefined) {
    const buttons = [...byId('streams-list').querySelectorAll('button')];
    (buttons.find(({dataset}) => dataset.stream === focused) ?? byId('streams-title')).focus();
  }
}

/** Sends a test record to a stream's sink, and shows the answer. */
async function test(name) {
  const {signal} = session;
  byId('streams-answer').textContent = `A test record is on its way to ${name} …`;
  let text;
  try {
    const {outcome, answer} = await askJson(`v1/streams/${encodeURIComponent(name)}/test`, {signal, method: 'POST'});
    text = `${name} ${TESTED[outcome]}: ${line(answer)}`;
  } catch (problem) {
    text = `${name} was not tested: ${problem.message}`;
  }
  if (!signal.aborted) {
    byId('streams-answer').textContent = text;
  }
}

function item(stream) {
  const why = {stopped: stream.stop_reason, failing: stream.last_error, paused: stream.pause_reason}[stream.state];
  return make(
    'li',
    {'data-state': stream.state},
    make('p', {}, make('b', {}, line(stream.name)), ' ', make('span', {class: 'state'}, TEXTS[stream.state])),
    make('p', {class: 'note'}, make('bdi', {}, line(stream.sink.url)), stream.all_projects ? ' · all projects' : '',
      stream.link === null ? '' : ' · set by a link'),
    make('p', {class: 'note'}, `${records(Number(stream.lag))} behind, ${records(Number(stream.delivered))} delivered`,
      stream.dead_letters > 0 ? `, ${records(Number(stream.dead_letters))} passed by` : ''),
    ...(why ? [make('p', {class: 'error'}, line(why))] : []),
    button({'data-stream': stream.name}, () => test(stream.name), 'Send a test record'),
  );
}
