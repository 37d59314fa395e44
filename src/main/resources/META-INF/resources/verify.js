// Verifies what is shown with keys that the reader has pinned in this browser. The browser stores the newest checkpoint of each log, and
// every later one has to continue it. Without a pinned key nothing is verified, and the page says so.

import {FEED, Problem, ask} from './api.js';
import {
  NotProved, OtherLog, REDACT, base64, canonical, hashOf, hashesOf, isConsistent, notNamed, openCheckpoint, parse, parseKey,
  provePage, proveRecord, unnamed, whatIsMissing,
} from './proof.js';
import {button, byId, count, icon, line, make, parseJson, records} from './text.js';

const PINS = 'annals.log.';
const LOG = /^(.+\/v1\/projects\/([0-9a-f-]{36}))\/log\/([1-9][0-9]{0,8})$/;
const MAX_KEYS = 32;
const BEHIND_MS = 1_000;
const MAX_BEHIND_MS = 10_000;
const LOST_TRIES = 5;
/** The most records proved with one page. */
const SPAN = 100;

/** The log does not continue the stored checkpoint. */
class Forked extends NotProved {}

/** The service's description of its log, and the parts of its origin; null before it is read. It is not trusted. */
let log = null;
/** The parsed pinned keys of the log's project. */
let keys = [];
/** Records whose redacted fields the log is proved to name. */
const named = new Set();
/** Aborted when another project or token is used. */
let session = new AbortController();

const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), {once: true});
});

// ---- Stored in the browser -----------------------------------------------------------------------------------------

/** The pinned keys of a project, and the stored checkpoints by origin. */
function pinsOf(project) {
  try {
    const {pinned = [], kept = {}} = JSON.parse(localStorage.getItem(PINS + project) ?? '{}');
    return {pinned, kept};
  } catch {
    return {pinned: [], kept: {}};
  }
}

const storePins = (project, pins) => localStorage.setItem(PINS + project, JSON.stringify(pins));

/** Whether keys of other projects are pinned. */
const knowsOthers = () =>
  Object.keys(localStorage).some((name) => name.startsWith(PINS) && name !== PINS + log.project && pinsOf(name.slice(PINS.length)).pinned.length > 0);

const keptCheckpoint = () => pinsOf(log.project).kept[log.origin];

async function askText(path, signal) {
  return (await ask(path, {signal, headers: {Accept: 'text/plain, application/problem+json'}})).text();
}

/** Requires that the newer of two checkpoints continues the older one; otherwise fails with Forked. */
async function requireContinued(kept, found, signal) {
  const [from, to] = kept.size <= found.size ? [kept, found] : [found, kept];
  let proof = [];
  for (let tries = 1; from.size > 0 && from.size < to.size; tries++) {
    try {
      const answer = parse(await (await ask(`${FEED}/log/consistency?from=${from.size}&to=${to.size}`, {signal})).text());
      proof = hashesOf(answer?.get?.('hashes'));
      break;
    } catch (problem) {
      // Another instance may be a moment behind the one that signed.
      if (problem.type === 'log-behind' && tries === LOST_TRIES) {
        throw new Forked(`the log has ${records(found.size)}, and had ${records(kept.size)}: its end was lost`);
      } else if (problem.type !== 'log-behind') {
        throw problem instanceof NotProved ? new Forked(problem.message) : problem;
      }
      await pause(BEHIND_MS, signal);
    }
  }
  if (!(await isConsistent(from, to, proof))) {
    throw new Forked(
      `the log of ${records(found.size)} does not go with that of ${records(kept.size)}, which this browser has verified:` +
      ' records were changed, removed or inserted');
  }
}

/** Stores an opened checkpoint after proving that it continues the stored one. */
async function keep(found, signal) {
  const {project} = log;
  for (;;) {
    const before = JSON.stringify(pinsOf(project).kept[found.origin]);
    if (before !== undefined) {
      const {size, root} = JSON.parse(before);
      await requireContinued({size, root: hashOf(root)}, found, signal);
    }
    // Another tab may have stored a newer one meanwhile.
    const pins = pinsOf(project);
    if (JSON.stringify(pins.kept[found.origin]) === before) {
      if (!(found.size <= pins.kept[found.origin]?.size)) {
        pins.kept[found.origin] = {size: found.size, root: base64(found.root), note: found.note};
        storePins(project, pins);
      }
      return;
    }
  }
}

// ---- The log as a whole --------------------------------------------------------------------------------------------

const STATES = {none: 'Not verified', unsigned: 'Not signed', checking: 'Verifying', proved: 'Verified', unable: 'Not verified', wrong: 'Does not match'};

const PROVED = 'The log is signed with a key that you have pinned, and continues what this browser has verified before.';

/** Shows the state of the log in the bar and in the dialog. */
function showLog(state, why = state === 'proved' ? PROVED : STATES[state]) {
  byId('proof-state').dataset.state = state;
  byId('proof-state').setAttribute('aria-label', `Proof: ${STATES[state]}`);
  byId('proof-text').textContent = STATES[state];
  byId('log-state').textContent = line(why);
  byId('log-state').className = state === 'wrong' ? 'error' : '';
  showPins();
}

/** Warns that the log was forked. The older checkpoint stays stored. */
function showFork(why) {
  byId('fork-text').textContent = line(
    `The log does not match what this browser has verified. ${why} Your older checkpoint is kept. Do not rely on what is` +
    ' shown here; copy that checkpoint, and ask the operator of the service.');
  byId('fork').hidden = false;
  showLog('wrong', why);
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;

/** The state and the sentence for a failure. */
function told(problem) {
  if (problem instanceof OtherLog) {
    return ['unable', `${sentence(problem.message)} If the service says that it has begun a new log, decide whether its reason is` +
      ' good enough, and pin the new key.'];
  }
  return problem instanceof NotProved || problem.type === 'log-forked'
    ? ['wrong', sentence(problem.message)]
    : ['unable', `It cannot be verified now: ${problem.message}`];
}

/** Reads the description of the log, and verifies its newest checkpoint. Called after each sign-in. */
export async function begin() {
  end();
  const {signal} = session;
  showLog('none');
  try {
    const said = await (await ask(`${FEED}/log`, {signal})).json();
    const [, prefix, project, epoch] = LOG.exec(said.origin) ?? [];
    if (signal.aborted || !project) {
      return;
    }
    log = {...said, prefix, project, epoch};
    await check(signal);
  } catch (problem) {
    if (!signal.aborted) {
      showLog(...told(problem));
    }
  }
}

/** Forgets the log. Pinned keys and checkpoints stay stored. */
export function end() {
  session.abort();
  session = new AbortController();
  log = null;
  keys = [];
  named.clear();
  byId('fork').hidden = true;
}

async function check(signal) {
  const missing = await whatIsMissing();
  const {pinned} = pinsOf(log.project);
  if (missing) {
    showLog('unable', missing);
  } else if (pinned.length === 0) {
    const unsigned = log.state === 'unsigned';
    showLog(unsigned ? 'unsigned' : 'none', unsigned ? 'This service has no key to sign with, so nothing can be proved.' : whyNone());
  } else {
    try {
      showLog('checking');
      keys = await Promise.all(pinned.map(parseKey));
      await keep(await openCheckpoint(await askText(`${FEED}/log/${log.epoch}/checkpoint`, signal), keys), signal);
      if (!signal.aborted) {
        showLog('proved');
      }
    } catch (problem) {
      if (!signal.aborted) {
        failed(problem);
      }
    }
  }
}

function failed(problem) {
  const [state, why] = told(problem);
  if (problem instanceof Forked || problem.type === 'log-forked') {
    showFork(why);
  } else {
    showLog(state, why);
  }
}

const whyNone = () =>
  knowsOthers()
    ? 'No key of this log is pinned here, but keys of other logs are. If you expected one of those, something is wrong.'
    : 'No key of this log is pinned in this browser.';

// ---- One record ----------------------------------------------------------------------------------------------------

const SIGNS = {proved: 'm5 10.5 3.5 3.5L15 6.5', wrong: 'M10 5.5v5.5m0 3v.1', checking: 'M10 6v4.5l3 1.5'};

function showRecord(place, state, text, ...more) {
  place.dataset.state = state;
  place.replaceChildren(
    icon(SIGNS[state] ?? 'M6.5 10h7'), make('div', {}, make('strong', {}, text), ...more.map((one) => (typeof one === 'string' ? make('p', {}, one) : one))));
}

/** The canonical text of a record without redacted and empty fields, to compare two records. */
function appearance(record, without = []) {
  const members = parse(JSON.stringify(record));
  members.delete('redacted');
  // The service adds it to pages. It is no part of the record.
  members.delete('misfit');
  for (const name of without) {
    const [party, part] = name.split('.');
    part === undefined ? members.delete(party) : members.get(party)?.delete?.(part);
  }
  for (const [name, value] of members) {
    if (value instanceof Map && value.size === 0) {
      members.delete(name);
    }
  }
  return canonical(members);
}

/**
 * Proves one record, and shows the result in an element.
 *
 * @param shown the record as it is shown
 * @param place the element
 * @param replace shows the redacted record, if the record was redacted since it was loaded
 */
export async function verifyRecord(shown, place, signal, replace) {
  if (log === null || keys.length === 0) {
    showRecord(place, 'none', 'Not verified', byId('log-state').textContent, button({class: 'link'}, openProof, 'Pin a key'));
    return;
  }
  let wait = BEHIND_MS;
  let lost = 0;
  showRecord(place, 'checking', 'Verifying …');
  while (!signal.aborted) {
    try {
      const {proved, checkpoint} = await proveRecord(await askText(`${FEED}/${encodeURIComponent(shown.id)}/proof`, signal), keys);
      await keep(checkpoint, signal);
      await requireNamed(proved, signal);
      if (!signal.aborted) {
        showProved(shown, proved, checkpoint, place, replace);
      }
      return;
    } catch (problem) {
      if (signal.aborted) {
        return;
      }
      // The log had this record before. It may be missing only at an instance that is a moment behind.
      lost += keptCheckpoint()?.size >= shown.sequence_id ? 1 : 0;
      if (problem.type === 'log-behind' && lost < LOST_TRIES) {
        showRecord(place, 'behind', 'Not in the log yet', 'The log follows the feed within moments. Trying again …');
        await pause(Math.max(wait, problem.retryAfter * 1000), signal);
        wait = Math.min(2 * wait, MAX_BEHIND_MS);
        continue;
      }
      if (showFailure(place, problem) === 'wrong') {
        marked(shown, 'wrong', 'Does not match');
      }
      return;
    }
  }
}

const ADVICE = 'Do not rely on this record. Keep your checkpoint and a copy of what you see, and ask the operator of the service.';

function showFailure(place, problem) {
  const lost = problem.type === 'log-behind';
  const [state, text] = lost ? ['wrong', 'The log was longer when this browser saw it last: its end was lost.'] : told(problem);
  if (lost || problem instanceof Forked || problem.type === 'log-forked') {
    showFork(text);
  }
  if (state === 'wrong') {
    showLog(state, text);
    showRecord(place, state, 'Does not match', line(text), ADVICE);
  } else {
    showRecord(place, state, 'Not verified', line(text), button({class: 'link'}, openProof, 'Proof'));
  }
  return state;
}

/**
 * Compares a record that is shown with the proved one. They must be equal except for fields that were redacted since.
 *
 * @return the redacted record to show instead; null if nothing was redacted
 */
function compare(shown, proved) {
  // Parsed like the record that is shown: a browser that rounds numbers rounds both.
  const record = parseJson(canonical(proved.record));
  const redacted = Object.keys(record.redacted ?? {});
  if (appearance(shown, redacted) !== appearance(record, redacted)) {
    throw new NotProved('the log proves another record than the service has shown');
  }
  return redacted.length > 0 && appearance(shown) !== appearance(record) ? record : null;
}

/**
 * Requires that for each redacted field a record of the log names it, and proves that record.
 *
 * @param proved a record that is proved
 */
async function requireNamed(proved, signal) {
  const known = `${proved.id} ${proved.redacted.join()}`;
  let open = named.has(known) ? [] : proved.redacted;
  for (let path = `${FEED}?action=${REDACT}&subject=${encodeURIComponent(proved.id)}`; open.length > 0 && path; ) {
    const page = await (await ask(path, {signal})).json();
    for (const event of page.results) {
      const {proved: says, checkpoint} = await proveRecord(await askText(`${FEED}/${encodeURIComponent(event.id)}/proof`, signal), keys);
      await keep(checkpoint, signal);
      const left = unnamed(proved, [says]);
      open = open.filter((field) => left.includes(field));
    }
    const next = page.next === null ? null : new URL(page.next).searchParams.get('cursor');
    path = next === null ? null : `${FEED}?action=${REDACT}&subject=${encodeURIComponent(proved.id)}&cursor=${encodeURIComponent(next)}`;
  }
  if (open.length > 0) {
    throw notNamed(proved, open);
  }
  named.add(known);
}

function provedAt({size, witnesses}, redacted) {
  const gone = redacted.length === 0 ? '' : `, ${redacted.length} ${redacted.length === 1 ? 'value' : 'values'} redacted`;
  const by = witnesses > 0 ? ` with ${count.format(witnesses)} ${witnesses === 1 ? 'witness' : 'witnesses'}` : '';
  return `Proved at size ${count.format(size)}${by}${gone}`;
}

/** Shows the log as verified, unless something was wrong since the last complete verification. */
function showLogProved() {
  if (byId('proof-state').dataset.state !== 'wrong') {
    showLog('proved');
  }
}

function showProved(shown, proved, checkpoint, place, replace) {
  let other;
  try {
    other = compare(shown, proved);
  } catch (problem) {
    showFailure(place, problem);
    marked(shown, 'wrong', 'Does not match');
    return;
  }
  if (other !== null) {
    replace(other);
    return;
  }
  marked(shown, 'proved', provedAt(checkpoint, proved.redacted));
  showRecord(place, 'proved', provedAt(checkpoint, proved.redacted));
  showLogProved();
}

// ---- The rows ------------------------------------------------------------------------------------------------------

/**
 * Proves and marks rows, a page at a time. If a page does not match the log, each of its rows is proved separately.
 *
 * @param shown records as they are shown
 * @param replace shows a redacted record
 * @returns the records that are not in the log yet
 */
export async function verifyRows(shown, signal, replace) {
  if (log === null || keys.length === 0) {
    return [];
  }
  const behind = [];
  let rest = shown.toSorted((one, other) => one.sequence_id - other.sequence_id);
  try {
    const size = await newestSize(rest.at(-1).sequence_id, signal);
    while (rest.length > 0 && rest[0].sequence_id <= size) {
      const first = rest[0].sequence_id;
      const last = Math.min(first + SPAN - 1, size, rest.at(-1).sequence_id);
      const some = rest.filter((record) => record.sequence_id <= last);
      rest = rest.slice(some.length);
      rest.unshift(...(await verifySpan(some, last, size, signal, replace)));
    }
    behind.push(...rest);
  } catch (problem) {
    if (!signal.aborted && problem.type === 'log-behind') {
      behind.push(...rest);
    } else if (!signal.aborted) {
      failed(problem);
    }
  }
  if (!signal.aborted) {
    behind.forEach((record) => marked(record, 'behind', 'Not in the log yet'));
  }
  return behind;
}

/** The size of the stored checkpoint or, if that has too few records, of the newest one. */
async function newestSize(wanted, signal) {
  if (!(keptCheckpoint()?.size >= wanted)) {
    await keep(await openCheckpoint(await askText(`${FEED}/log/${log.epoch}/checkpoint`, signal), keys), signal);
  }
  const {size} = keptCheckpoint();
  if (size < wanted) {
    await requireThatItGoesOn(signal);
  }
  return size;
}

/** Requires that the log has not ended. */
async function requireThatItGoesOn(signal) {
  const {epoch, origin, epochs} = await (await ask(`${FEED}/log`, {signal})).json();
  if (String(epoch) !== log.epoch) {
    const ended = epochs.find((one) => String(one.epoch) === log.epoch);
    throw new OtherLog(`the log ${log.origin} has ended (${ended?.reason ?? 'without a reason'}), and the service goes on with ${origin}`);
  }
}

/** Proves the rows of one page. @returns the rows for which the page had no room */
async function verifySpan(some, last, size, signal, replace) {
  const before = some[0].sequence_id - 1;
  try {
    const page = parse(await (await ask(`${FEED}?cursor=${before}&limit=${last - before}&proof=${size}`, {signal})).text());
    const checkpoint = await openCheckpoint(page.get?.('proof')?.get?.('checkpoint') ?? '', keys);
    const {start, end, records: proved} = await provePage(page, checkpoint);
    if (checkpoint.size !== size || start !== before || end === start) {
      throw new NotProved('the service has proved other records than it was asked for');
    }
    await keep(checkpoint, signal);
    for (const one of proved) {
      await requireNamed(one, signal);
    }
    for (const record of some.filter(({sequence_id: n}) => n <= end)) {
      mark(record, proved[record.sequence_id - start - 1], checkpoint, signal, replace);
    }
    showLogProved();
    return some.filter(({sequence_id: n}) => n > end);
  } catch (problem) {
    if (signal.aborted || !(problem instanceof NotProved) || problem instanceof Forked) {
      throw problem;
    }
    // A record or the page does not match the log: prove each row separately, to find which.
    failed(problem);
    for (const record of some) {
      await verifyRow(record, signal, replace);
    }
    return [];
  }
}

async function verifyRow(record, signal, replace) {
  try {
    const {proved, checkpoint} = await proveRecord(await askText(`${FEED}/${encodeURIComponent(record.id)}/proof`, signal), keys);
    await keep(checkpoint, signal);
    await requireNamed(proved, signal);
    mark(record, proved, checkpoint, signal, replace);
  } catch (problem) {
    if (signal.aborted || !(problem instanceof NotProved) || problem instanceof Forked) {
      throw problem;
    }
    marked(record, 'wrong', 'Does not match');
  }
}

function mark(record, proved, checkpoint, signal, replace) {
  if (signal.aborted) {
    return;
  }
  try {
    const other = compare(record, proved);
    if (other !== null) {
      replace(other);
    }
    marked(other ?? record, 'proved', provedAt(checkpoint, proved.redacted));
  } catch (problem) {
    showLog(...told(problem));
    marked(record, 'wrong', 'Does not match');
  }
}

// ---- The dialog ----------------------------------------------------------------------------------------------------

export function openProof() {
  byId('vkey-error').textContent = '';
  byId('proof').showModal();
  if (log === null) {
    begin();
  }
}

function showPins() {
  const pins = log === null ? {pinned: [], kept: {}} : pinsOf(log.project);
  const kept = log === null ? undefined : pins.kept[log.origin];
  byId('log-origin').textContent = log === null ? '' : line(log.origin);
  byId('log-kept').textContent = kept ? `${records(kept.size)}` : 'none';
  byId('copy-checkpoint').hidden = !kept;
  byId('pinned').replaceChildren(...pins.pinned.map((vkey) => make('li', {},
    make('code', {}, line(vkey)),
    button({class: 'icon', 'aria-label': `Unpin the key ${line(vkey)}`}, () => unpin(vkey), icon('m5.5 5.5 9 9m0-9-9 9')))));
  const offered = (log?.vkeys ?? []).filter((vkey) => !pins.pinned.includes(vkey));
  byId('offer').hidden = offered.length === 0;
  byId('offered').textContent = offered.map(line).join('\n');
}

async function pin(vkeys) {
  const error = byId('vkey-error');
  error.textContent = '';
  try {
    if (log === null) {
      throw new Problem(0, 'The service has not said yet which log it shows.');
    }
    const missing = await whatIsMissing();
    if (missing) {
      throw new Problem(0, missing);
    }
    for (const key of await Promise.all(vkeys.map(parseKey))) {
      if (!key.isWitness && LOG.exec(key.name)?.[1] !== log.prefix) {
        throw new NotProved(`this is the key of ${line(key.name)}, and the service shows ${line(log.origin)}`);
      }
    }
    const pins = pinsOf(log.project);
    const pinned = [...new Set([...pins.pinned, ...vkeys])];
    if (pinned.length > MAX_KEYS) {
      throw new Problem(0, `There are ${MAX_KEYS} keys already: unpin one first.`);
    }
    storePins(log.project, {...pins, pinned});
    byId('vkey').value = '';
    await again();
  } catch (problem) {
    error.textContent = problem instanceof NotProved ? `It was not pinned: ${problem.message}.` : problem.message;
  }
}

async function unpin(vkey) {
  const pins = pinsOf(log.project);
  storePins(log.project, {...pins, pinned: pins.pinned.filter((one) => one !== vkey)});
  keys = [];
  byId('vkey').focus();
  await again();
}

/** Called after keys were pinned or unpinned. */
let changed = () => {};
/** Called with the result for a record. */
let marked = () => {};

export function listen(listeners) {
  ({changed, marked} = listeners);
}

async function again() {
  byId('fork').hidden = true;
  await check(session.signal);
  changed();
}

async function copyCheckpoint({currentTarget}) {
  const label = currentTarget.textContent;
  try {
    await navigator.clipboard.writeText(keptCheckpoint().note);
    currentTarget.textContent = 'Copied';
  } catch {
    currentTarget.textContent = 'The browser forbids it';
  }
  setTimeout(() => (byId('copy-checkpoint').textContent = label), 2000);
}

byId('proof-state').addEventListener('click', openProof);
byId('fork-details').addEventListener('click', openProof);
byId('copy-checkpoint').addEventListener('click', copyCheckpoint);
byId('take-over').addEventListener('click', () => pin(log.vkeys));
byId('pin').addEventListener('submit', (submit) => {
  submit.preventDefault();
  pin([byId('vkey').value.trim()]);
});
byId('close-proof').addEventListener('click', () => byId('proof').close());
