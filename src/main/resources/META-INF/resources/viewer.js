// The viewer of a project's records: a client of the public API and nothing more.
//
// The address' fragment is the state: the filters, and the record whose detail is open. A link brings its token there, too.

import {
  FEED, Problem, ask, askJson, events, isLink, isSession, ofBrowser, ofTab, project, queryOf, setSession, setToken, token,
} from './api.js';
import {loadDays} from './days.js';
import {
  button, byId, count, exact, icon, line, long, make, outcomeKind, paintJson, parseJson, partyText, records,
} from './text.js';
import {begin as beginStreams, end as endStreams, open as openStreams} from './streams.js';
import {begin as beginProof, end as endProof, listen, verifyRecord, verifyRows} from './verify.js';

const PAGE_SIZE = 100;
const MAX_ROWS = 1000;
const SILENCE_MS = 60_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
const ANNOUNCE_MS = 5_000;
const DAYS_MS = 30_000;
const PROGRESS_MS = 100;
const SETTLED_PX = 40;
const GATHER_MS = 150;
const BEHIND_MS = 1_000;

/** The filters' names in the API and in the page. */
const LABELS = {
  q: 'Message', action: 'Action', actor: 'Actor', subject: 'Subject', outcome: 'Outcome', ip_address: 'IP address',
  recorded_by: 'Recorded by', start: 'From', end: 'Until',
};
const FILTERS = Object.keys(LABELS);

const wide = matchMedia('(min-width: 60rem)');

// ---- The address ---------------------------------------------------------------------------------------------------

let filters = {};
let openId = null;

function address(newFilters, recordId = null) {
  const parameters = new URLSearchParams(newFilters);
  if (recordId) {
    parameters.set('record', recordId);
  }
  return `#${parameters}`;
}

function go(newFilters, recordId = null, replace = false) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address(newFilters, recordId));
  route();
}

/** Makes the page show what the address says. */
function route(anew = false) {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, parameters.get(name)]).filter(([, value]) => value));
  const changed = address(wanted) !== address(filters);
  filters = wanted;
  if (!token) {
    return;
  }
  if (changed || anew) {
    showFilters();
    load();
  }
  openDetail(parameters.get('record'));
}

// ---- Signing in and out --------------------------------------------------------------------------------------------

function show() {
  byId('sign-in').hidden = token !== null;
  document.querySelectorAll('.signed-in').forEach((element) => (element.hidden = token === null));
  if (isLink) {
    byId('sign-out').hidden = true;
    byId('proof-state').hidden = true;
    byId('histogram').hidden = true;
  }
  if (token === null) {
    byId('token').focus();
  }
}

/** Takes the token of a link out of the address, so that neither the history nor a copy of the address has it. */
function takeLink() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const given = parameters.get('token');
  if (given === null) {
    return false;
  }
  parameters.delete('token');
  history.replaceState(null, '', `#${parameters}`);
  if (/^[!-~]+$/.test(given)) {
    setToken(given, true);
  }
  return true;
}

const WHY_NOT = {
  refused: 'The provider did not let you sign in.',
  unknown: 'This sign-in was not begun here, or too long ago. Try again.',
  away: 'The provider cannot be reached. Try again later.',
  'too-long': 'The provider says more of you than fits into a cookie. Tell the administrator.',
  bad: 'What the provider said of you does not hold. Tell the administrator.',
};
const ADDRESS = 'annals.address';
const READING = ['read', 'audit', 'admin'];
const STREAMING = ['stream', 'admin'];
let signedIn = new AbortController();

/** Leaves for the provider. The address comes back, and does not go there. */
function leaveForProvider() {
  ofTab.set(ADDRESS, location.hash);
  location.assign('v1/session/sign-in');
}

/** Why somebody who comes back from the provider could not sign in; null for whoever does not. */
function takeFailure() {
  const why = new URLSearchParams(location.hash.slice(1)).get('sign-in');
  if (why === null) {
    return null;
  }
  history.replaceState(null, '', '#');
  return WHY_NOT[why] ?? WHY_NOT.bad;
}

/** Offers the provider, if there is one, and goes on for whoever has signed in with it. */
async function enter() {
  const failure = takeFailure();
  const session = await askJson('v1/session', {cookie: true}).catch(() => null);
  if (!session?.provider) {
    return;
  }
  byId('provider-name').textContent = new URL(session.provider).host;
  byId('provider').hidden = false;
  if (failure !== null) {
    byId('sign-in-error').textContent = failure;
  } else if (isSession()) {
    readable().then(showProjects).catch(() => {});
  } else if (token === null && session.subject !== null) {
    await enterProject();
  }
}

const readable = async () =>
  (await askJson('v1/whoami/projects', {cookie: true})).projects
    .filter(({scopes}) => scopes.some((scope) => READING.includes(scope)));

/** Reads one of the projects that are open to who has signed in. */
async function enterProject() {
  try {
    const open = await readable();
    if (open.length === 0) {
      throw new Problem(0, 'You have signed in, but no project is open to you. Ask the administrator for a grant.');
    }
    const address = ofTab.get(ADDRESS);
    ofTab.remove(ADDRESS);
    if (address && location.hash.length < 2) {
      history.replaceState(null, '', address);
    }
    setSession(open[0].id);
    showProjects(open);
    start();
  } catch (problem) {
    setToken(null);
    byId('sign-in-error').textContent = problem.message;
  }
}

function showProjects(open) {
  const choice = byId('project');
  choice.replaceChildren(...open.map(({id, name}) => {
    const option = make('option', {value: id}, name);
    option.selected = id === project;
    return option;
  }));
  choice.hidden = open.length < 2;
}

function changeProject() {
  setSession(byId('project').value);
  history.pushState(null, '', '#');
  endProof();
  endStreams();
  byId('detail').close();
  start();
}

/** Shows what the address says, with the log's newest checkpoint verified beside it. */
function start() {
  show();
  route(true);
  if (token && !isLink) {
    beginProof().then(verifyAll);
    showStreams();
  }
}

/** Where records are delivered, for whoever may see that. */
async function showStreams() {
  signedIn.abort();
  signedIn = new AbortController();
  const {signal} = signedIn;
  const {scopes} = await askJson('v1/whoami', {signal}).catch(() => ({scopes: []}));
  if (!signal.aborted && scopes.some((scope) => STREAMING.includes(scope))) {
    beginStreams(signal);
  }
}

async function signIn(submit) {
  submit.preventDefault();
  const error = byId('sign-in-error');
  const given = byId('token').value.trim();
  error.textContent = '';
  try {
    if (!/^[!-~]+$/.test(given)) {
      throw new Problem(0, 'This is not a token: it has characters that no token has.');
    }
    setToken(given);
    await ask(`${FEED}?order=desc&limit=1`);
    byId('token').value = '';
    start();
  } catch (problem) {
    setToken(null);
    error.textContent = problem.message;
    byId('token').select();
  }
}

function signOut(reason = '') {
  if (isSession()) {
    ask('v1/session', {method: 'DELETE', cookie: true}).catch(() => {});
    byId('project').hidden = true;
  }
  signedIn.abort();
  endStreams();
  setToken(null);
  openId = null;
  loading.abort();
  endProof();
  verifying.abort();
  clearRows();
  byId('detail').close();
  byId('detail-body').replaceChildren();
  byId('histogram').hidden = true;
  byId('sign-in-error').textContent = reason;
  show();
  byId('token').focus();
}

/** Shows what went wrong; a token that is no longer known leads back to the start. */
function fail(problem) {
  if (problem.name === 'AbortError') {
    return;
  }
  if (problem.status === 401 && !isLink) {
    signOut(problem.message);
    return;
  }
  byId('problem-text').textContent = problem.status === 401 ? 'This link has ended. Open it again from where you found it.' : problem.message;
  byId('problem').hidden = false;
  if (problem.position) {
    pointAt(problem.position);
  }
}

/** Selects the character of the query that the service cannot take. */
function pointAt(position) {
  const {q} = form.elements;
  const characters = [...q.value];
  const start = characters.slice(0, position - 1).join('').length;
  q.setAttribute('aria-invalid', 'true');
  q.setAttribute('aria-describedby', 'problem-text');
  q.focus();
  q.setSelectionRange(start, start + (characters[position - 1] ?? '').length);
}

/** Until it is asked for again. */
function unpoint() {
  form.elements.q.removeAttribute('aria-invalid');
  form.elements.q.removeAttribute('aria-describedby');
}

// ---- Rows ----------------------------------------------------------------------------------------------------------

const rows = byId('rows');
const shown = new Map();
let loading = new AbortController();
let stopping = null;
/** What the reading of older records that goes on has done so far; empty while none goes on. */
let progress = '';
/** The query of the page behind the last row; null at the beginning of the feed. */
let next = null;
/** Whether rows are missing between the first row and the newest record: then only a new load shows the newest. */
let detached = false;

const cell = (kind, ...children) => make('td', {role: 'cell', class: kind}, ...children);
const value = (text, kind = '') => make('bdi', {class: kind}, line(text));

/** A mark in place of a value that was redacted. */
const valueOrMark = (text, record, name) =>
  text || !Object.keys(record.redacted ?? {}).some((gone) => gone.startsWith(name)) ? value(text) : value('redacted', 'dim');

function row(record) {
  const time = record.timestamp;
  const spoken = [record.action, partyText(record.actor), record.outcome ?? ''].filter(Boolean).join(', ');
  const link = make(
    'a',
    {href: address(filters, record.id), 'aria-label': `${time.slice(0, 10)} ${time.slice(11, 19)} ${line(spoken)}`},
    make('time', {datetime: time}, make('span', {class: 'dim'}, `${time.slice(0, 10)} `), time.slice(11, 19)));
  const subject = record.subject?.type && partyText(record.subject) !== record.subject.type
    ? [make('bdi', {class: 'dim'}, `${line(record.subject.type)} `), value(partyText(record.subject))]
    : [valueOrMark(partyText(record.subject), record, 'subject.')];
  return make(
    'tr',
    {role: 'row', 'data-id': record.id},
    cell('time', link),
    cell('action', value(record.action), make('span', {class: 'mark'})),
    cell('actor', valueOrMark(partyText(record.actor), record, 'actor.')),
    cell('subject', ...subject),
    cell('outcome', ...(record.outcome ? [value(record.outcome, `badge ${outcomeKind(record.outcome)}`)] : [])),
    cell('message', valueOrMark(record.message ?? '', record, 'message')),
    cell('number', String(record.sequence_id)));
}

function clearRows() {
  inSight.disconnect();
  unproved.clear();
  rows.replaceChildren();
  shown.clear();
  arrived.length = 0;
  missed = 0;
  detached = false;
  showMissed();
}

const unknown = (found) => found.filter((record) => !shown.has(record.id) && shown.set(record.id, record));

function addOlder(found) {
  const added = unknown(found).map(row);
  rows.append(...added);
  added.forEach((element) => inSight.observe(element));
  while (rows.childElementCount > MAX_ROWS) {
    shown.delete(rows.firstElementChild.dataset.id);
    rows.firstElementChild.remove();
    detached = true;
  }
  showMissed();
}

function addNewer(found) {
  const added = unknown(found).map(row);
  added.forEach((element) => element.classList.add('new'));
  rows.prepend(...added.reverse());
  added.forEach((element) => inSight.observe(element));
  if (rows.childElementCount > MAX_ROWS) {
    while (rows.childElementCount > MAX_ROWS) {
      shown.delete(rows.lastElementChild.dataset.id);
      rows.lastElementChild.remove();
    }
    const last = shown.get(rows.lastElementChild.dataset.id);
    next = firstQuery({cursor: last.sequence_id});
    showEnd();
  }
}

const firstQuery = (more = {}) => `?${new URLSearchParams({...more, order: 'desc', limit: PAGE_SIZE, ...filters})}`;

/** Shows the newest records that pass the filters, and follows the feed from there. */
function load() {
  loading.abort();
  loading = new AbortController();
  endReading();
  byId('problem').hidden = true;
  unpoint();
  clearRows();
  next = firstQuery();
  readOlder(true);
}

/** Reads on until there is a page's worth of rows, or the beginning of the feed, or somebody says stop. */
async function readOlder(isFirst = false) {
  const {signal} = loading;
  if (stopping || next === null || signal.aborted) {
    return;
  }
  stopping = new AbortController();
  // Observed anew after each reading: the end may still be in sight, and that is not reported twice.
  endInSight.disconnect();
  progress = 'Loading …';
  showEnd();
  let shownAt = performance.now();
  let found = 0;
  try {
    for (let pages = 0; next !== null && found < PAGE_SIZE; pages++) {
      if (performance.now() - shownAt >= PROGRESS_MS) {
        shownAt = performance.now();
        progress = `Searching older records: ${count.format(pages)} pages read, ${found} found`;
        showEnd();
      }
      const asked = next;
      const page = await askJson(FEED + asked, {signal: AbortSignal.any([signal, stopping.signal])});
      if (signal.aborted) {
        return;
      }
      if (next !== asked) {
        // New rows pushed out the last ones, which come before this page.
        continue;
      }
      next = queryOf(page.next);
      addOlder(page.results);
      found += page.results.length;
      if (isFirst && pages === 0) {
        follow(queryOf(page.poll_more), signal);
        showDays(signal);
      }
    }
    endReading();
    endInSight.observe(byId('end'));
  } catch (problem) {
    if (!signal.aborted) {
      endReading();
      fail(problem);
    }
  }
}

function endReading() {
  stopping = null;
  progress = '';
  showEnd();
}

function showEnd() {
  byId('older').hidden = progress !== '' || next === null;
  byId('stop').hidden = progress === '';
  const filtered = Object.keys(filters).length > 0;
  const none = filtered ? 'No records match these filters.' : 'No records yet: they appear here as they are appended.';
  const all = filtered ? 'No further records match these filters.' : 'The beginning of the feed.';
  byId('progress').textContent = progress || (next !== null ? '' : shown.size === 0 ? none : all);
  rows.parentElement.setAttribute('aria-busy', progress !== '');
}

const endInSight = new IntersectionObserver(
  // Of several entries at once the last one tells how it is now.
  (entries) => entries.at(-1).isIntersecting && readOlder(), {rootMargin: '600px'});

function showDays(signal) {
  if (isLink) {
    return;
  }
  const newest = shown.get(rows.firstElementChild?.dataset.id);
  loadDays({filters, labels: LABELS, newest, select: go, signal});
}

// ---- Live ----------------------------------------------------------------------------------------------------------

let paused = false;
/** Records that have arrived and are not shown yet, oldest first; at most MAX_ROWS. */
const arrived = [];
let missed = 0;
let announced = 0;

/** Streams what is appended from now on, through broken connections, until the signal. */
async function follow(query, signal) {
  let lastId = null;
  let retry = RETRY_MS;
  let failures = 0;
  while (!signal.aborted) {
    const silence = new AbortController();
    let timer;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
    };
    let wait = 0;
    try {
      showLive(failures ? 'waiting' : 'connecting');
      alive();
      const answer = await ask(`${FEED}/stream${query}`, {
        signal: AbortSignal.any([signal, silence.signal]),
        headers: {Accept: 'text/event-stream', ...(lastId && {'Last-Event-ID': lastId})},
      });
      showLive('live');
      for await (const event of events(answer.body)) {
        alive();
        failures = 0;
        lastId = event.id ?? lastId;
        retry = Number(event.retry) || retry;
        if (event.data !== undefined && event.event === 'record') {
          arrive(parseJson(event.data));
        } else if (event.event === 'problem') {
          const {status, detail, retry_after: after} = JSON.parse(event.data);
          throw new Problem(status, detail, after);
        }
      }
    } catch (problem) {
      if (!signal.aborted && problem.status >= 400 && problem.status < 500) {
        showLive('off');
        fail(problem);
        return;
      }
      wait = (problem.retryAfter ?? 0) * 1000;
    } finally {
      clearTimeout(timer);
    }
    if (!signal.aborted) {
      showLive('waiting');
      const pause = Math.min(MAX_RETRY_MS, retry * 2 ** failures++) * (0.5 + Math.random() / 2);
      await new Promise((resolve) => setTimeout(resolve, Math.max(wait, pause)));
    }
  }
}

function arrive(record) {
  missed++;
  if (arrived.push(record) > MAX_ROWS) {
    arrived.length = 0;
    detached = true;
  }
  if (missed === 1) {
    // One change of the page a frame, however fast records arrive; none while the tab is hidden.
    requestAnimationFrame(showArrived);
  } else {
    showMissed();
  }
}

function showArrived() {
  if (missed === 0) {
    return;
  }
  if (Date.now() - announced > ANNOUNCE_MS) {
    announced = Date.now();
    byId('announce').textContent = `${records(missed)} new`;
    setTimeout(showDays, DAYS_MS, loading.signal);
  }
  if (!paused && !detached && scrollY <= SETTLED_PX) {
    addNewer(arrived.splice(0));
    missed = 0;
    showEnd();
  }
  showMissed();
}

/** What is not in the list although it is newer than all that is. */
function showMissed() {
  byId('newest').hidden = missed === 0 && !detached;
  byId('newest').textContent = missed === 0
    ? 'Newer records are left out: show them'
    : `${count.format(missed)} new ${missed === 1 ? 'record' : 'records'}`;
}

/** Shows the newest records, paused or not. */
function toNewest() {
  scrollTo({top: 0});
  if (detached) {
    load();
  } else {
    addNewer(arrived.splice(0));
    missed = 0;
    showMissed();
  }
}

function togglePause() {
  paused = !paused;
  showLive();
  if (!paused) {
    toNewest();
  }
}

const LIVE = {live: 'Live', connecting: 'Connecting', waiting: 'Reconnecting', off: 'Not live'};
let liveState = 'connecting';

function showLive(state = liveState) {
  liveState = state;
  byId('live').dataset.state = paused ? 'paused' : state;
  byId('live').setAttribute('aria-pressed', !paused);
  byId('live').title = paused ? 'Show new records as they arrive' : 'Hold new records back';
  byId('live-text').textContent = paused ? 'Paused' : LIVE[state];
}

// ---- Filters -------------------------------------------------------------------------------------------------------

const form = byId('filters');

function showFilters() {
  for (const name of FILTERS) {
    const filter = filters[name] ?? '';
    form.elements[name].value = name === 'start' || name === 'end' ? fieldTime(filter) : filter;
    form.elements[name].classList.toggle('active', filter !== '');
  }
  const names = Object.keys(filters);
  byId('chips').hidden = names.length === 0;
  byId('chips').replaceChildren(
    ...names.map((name) => chip(name, filters[name])),
    ...(names.length > 1 ? [button({class: 'quiet'}, () => go({}), 'Clear all')] : []));
}

/** A time of the address as its field takes it: without a zone, which is always UTC here. */
function fieldTime(text) {
  const [, date, time = '00:00', zone = 'Z'] =
    /^([0-9-]{10})(?:[Tt ]([0-9:.]+)([Zz]|[+ -][0-9:]{5})?)?$/.exec(text) ?? [];
  if (/^[Z]$/i.test(zone)) {
    return date ? `${date}T${time}` : '';
  }
  const moment = new Date(`${date}T${time}${zone.replace(' ', '+')}`);
  return isNaN(moment) ? '' : moment.toISOString().replace('Z', '');
}

/** A filter that is on, and that a click takes away. */
function chip(name, text) {
  const {[name]: _, ...others} = filters;
  return button({'aria-label': `Remove the filter ${LABELS[name]} ${line(text)}`}, () => go(others),
    make('span', {class: 'dim'}, LABELS[name]), value(text), icon('m5.5 5.5 9 9m0-9-9 9'));
}

function applyFilters(submit) {
  submit.preventDefault();
  const given = FILTERS.map((name) => {
    const text = form.elements[name].value.trim();
    return [name, text && (name === 'start' || name === 'end') ? `${text}Z` : text];
  });
  go(Object.fromEntries(given.filter(([, text]) => text)));
}

// ---- A record ------------------------------------------------------------------------------------------------------

const detail = byId('detail');
/** The record that is shown in full; null while none is. */
let openRecord = null;
let verifying = new AbortController();

async function openDetail(id) {
  if (id === openId && detail.open === (id !== null)) {
    return;
  }
  openId = id;
  openRecord = null;
  verifying.abort();
  rows.querySelector('[aria-current]')?.removeAttribute('aria-current');
  if (id === null) {
    detail.close();
    return;
  }
  rowOf(id)?.setAttribute('aria-current', 'true');
  byId('detail-body').replaceChildren();
  byId('detail-title').textContent = 'Record';
  if (!detail.open) {
    detail[wide.matches ? 'show' : 'showModal']();
    byId('detail-title').focus();
  }
  try {
    const record = shown.get(id) ?? (await askJson(`${FEED}/${encodeURIComponent(id)}`));
    if (openId === id && token) {
      showDetail(record);
    }
  } catch (problem) {
    if (problem.status === 401) {
      fail(problem);
    } else if (openId === id) {
      byId('detail-body').replaceChildren(make('p', {class: 'error', role: 'alert'}, problem.message));
    }
  }
}

function closeDetail() {
  if (openId !== null) {
    const link = rowOf(openId)?.querySelector('a');
    go(filters, null, true);
    link?.focus();
  }
}

/** One field of a record; with a filter also a button that shows only the records like it. */
function field(label, text, filter, filterText = text, note = '') {
  if (text === undefined) {
    return [];
  }
  const content = make('dd', {}, make('span', {}, long(exact(text)), ...(note ? [make('br'), value(note, 'dim')] : [])));
  if (filter && filterText.length <= 1024 && filters[filter] !== filterText) {
    const only = () => go({...filters, [filter]: filterText}, wide.matches ? openId : null);
    content.append(button(
      {class: 'only', 'aria-label': `Only this ${label}`, title: 'Show only these'}, only, icon('M3.5 5h13l-5 6v4.5l-3-1.5v-3z')));
  }
  return [make('div', {}, make('dt', {}, label), content)];
}

function partyField(label, party, filter) {
  const {type, id, name} = party ?? {};
  const note = [name || id ? type : '', name ? id : ''].filter(Boolean).join(' · ');
  return field(label, name ?? id ?? type, id || name ? filter : undefined, id ?? name, note);
}

function copyButton(label, text) {
  const copy = async ({currentTarget}) => {
    try {
      await navigator.clipboard.writeText(text);
      currentTarget.textContent = 'Copied';
    } catch {
      // Without https the browser offers no clipboard.
      currentTarget.textContent = 'The browser forbids it';
    }
    byId('announce').textContent = currentTarget.textContent;
    setTimeout(() => (currentTarget.textContent = label), 2000);
  };
  return button({}, copy, label);
}

/** Marks the row of a record, if it shows that record. */
function markRow(record, state, text) {
  const mark = rowOf(record.id)?.querySelector('.mark');
  if (mark && JSON.stringify(shown.get(record.id)) === JSON.stringify(record)) {
    mark.dataset.state = state;
    mark.title = text;
    mark.setAttribute('role', 'img');
    mark.setAttribute('aria-label', text);
  }
}

/** Shows what is left of a record in place of what its row shows. */
function replaceRow(record) {
  const old = rowOf(record.id);
  if (old) {
    const replaced = row(record);
    ['class', 'aria-current'].forEach((name) => old.hasAttribute(name) && replaced.setAttribute(name, old.getAttribute(name)));
    shown.set(record.id, record);
    old.replaceWith(replaced);
  }
}

/** Rows that have come into sight, whose records are to be proved. */
const unproved = new Set();
let proving = false;

const inSight = new IntersectionObserver((entries) => {
  for (const {isIntersecting, target} of entries) {
    if (isIntersecting) {
      inSight.unobserve(target);
      unproved.add(target.dataset.id);
    }
  }
  verifyInSight();
});

/** Proves what is in sight, in one go after the other, so that however fast records arrive the service is asked now and then. */
async function verifyInSight() {
  if (proving || isLink) {
    return;
  }
  proving = true;
  try {
    while (unproved.size > 0) {
      const {signal} = loading;
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      const found = [...unproved].map((id) => shown.get(id)).filter(Boolean);
      unproved.clear();
      const behind = found.length > 0 && !signal.aborted ? await verifyRows(found, signal, replaceRow) : [];
      if (behind.length > 0 && !signal.aborted) {
        behind.forEach(({id}) => unproved.add(id));
        await new Promise((resolve) => setTimeout(resolve, BEHIND_MS));
      }
    }
  } finally {
    proving = false;
  }
}

/** Proves the record that is open, and all rows in sight, anew. */
function verifyAll() {
  verifyOpen();
  rows.querySelectorAll('.mark').forEach((mark) => mark.replaceWith(make('span', {class: 'mark'})));
  inSight.disconnect();
  rows.querySelectorAll('tr').forEach((element) => inSight.observe(element));
}

/** Proves the record that is open. */
function verifyOpen() {
  if (openRecord === null || isLink) {
    return;
  }
  verifying.abort();
  verifying = new AbortController();
  verifyRecord(openRecord, byId('detail-proof'), verifying.signal, (record) => {
    replaceRow(record);
    showDetail(record);
  });
}

function showDetail(record) {
  openRecord = record;
  const json = JSON.stringify(record, null, 2);
  const number = record.number;
  byId('detail-title').replaceChildren(value(record.action));
  byId('detail-body').replaceChildren(
    make('div', {id: 'detail-proof', class: 'proof', role: 'status'}),
    ...(record.message ? [long(record.message, 'p')] : []),
    make('dl', {},
      ...field('Time', record.timestamp),
      ...field('Action', record.action, 'action'),
      ...field('Outcome', record.outcome, 'outcome'),
      ...partyField('Actor', record.actor, 'actor'),
      ...partyField('Subject', record.subject, 'subject'),
      ...field('IP address', record.ip_address, 'ip_address'),
      ...field('Redacted', record.redacted && Object.keys(record.redacted).join(', ')),
      ...field('Number', number && `${number.sequence} ${exact(number.value)}`),
      ...field('Recorded', record.recorded_at),
      ...field('Recorded by', record.recorded_by, 'recorded_by'),
      ...field('Sequence id', record.sequence_id),
      ...field('Id', record.id)),
    make('div', {class: 'copy'},
      make('h3', {}, 'JSON'),
      copyButton('Copy JSON', json),
      copyButton('Copy link', new URL(address({}, record.id), location.href).href)),
    long(json, 'pre', paintJson));
  byId('detail-body').querySelector('pre').tabIndex = 0;
  byId('detail-body').scrollTop = 0;
  verifyOpen();
}

// ---- Keys ----------------------------------------------------------------------------------------------------------

const rowOf = (id) => rows.querySelector(`[data-id="${CSS.escape(id)}"]`);

/** Goes to the row after or before the current one, and takes an open detail along. */
function step(direction) {
  const current = document.activeElement.closest?.('#rows tr') ?? (openId && rowOf(openId));
  const sibling = direction > 0 ? 'nextElementSibling' : 'previousElementSibling';
  const target = current ? current[sibling] : rows.firstElementChild;
  if (!target) {
    return;
  }
  target.scrollIntoView({block: 'nearest'});
  if (detail.open) {
    go(filters, target.dataset.id, true);
    byId('detail-title').focus();
  } else {
    target.querySelector('a').focus();
  }
}

const SINGLE_KEYS = {
  j: () => step(1),
  k: () => step(-1),
  p: togglePause,
  g: toNewest,
  '/': () => form.elements.q.focus(),
  '?': () => byId('help').showModal(),
};

function pressed(event) {
  if (!token || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector('dialog:modal:not(#detail)')) {
    return;
  }
  const writes = event.target.closest('input');
  if (event.key === 'Escape' && (detail.open || writes)) {
    event.preventDefault();
    detail.open ? closeDetail() : writes.blur();
  } else if (event.target.closest('#rows') && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
    event.preventDefault();
    step(event.key === 'ArrowDown' ? 1 : -1);
  } else if (!writes && byId('single-keys').checked && Object.hasOwn(SINGLE_KEYS, event.key)) {
    event.preventDefault();
    SINGLE_KEYS[event.key]();
  }
}

// ---- Light and dark ------------------------------------------------------------------------------------------------

const systemDark = matchMedia('(prefers-color-scheme: dark)');

function showTheme() {
  const theme = ofBrowser.get('annals.theme') ?? (systemDark.matches ? 'dark' : 'light');
  document.documentElement.dataset.theme = theme;
  byId('theme').setAttribute('aria-label', theme === 'dark' ? 'Light colours' : 'Dark colours');
}

function toggleTheme() {
  const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  if ((theme === 'dark') === systemDark.matches) {
    ofBrowser.remove('annals.theme');
  } else {
    ofBrowser.set('annals.theme', theme);
  }
  showTheme();
}

// ---- Wiring --------------------------------------------------------------------------------------------------------

function openRow(event) {
  const link = event.target.closest('tr')?.querySelector('a');
  if (link && !event.target.closest('a') && getSelection().isCollapsed) {
    link.click();
  }
}

function toggleFilters() {
  const expanded = form.classList.toggle('expanded');
  byId('more-filters').setAttribute('aria-expanded', expanded);
}

const on = (id, handler, type = 'click') => byId(id).addEventListener(type, handler);

on('sign-in-form', signIn, 'submit');
on('sign-out', () => signOut());
on('provider-sign-in', leaveForProvider);
on('project', changeProject, 'change');
on('filters', applyFilters, 'submit');
on('more-filters', toggleFilters);
on('rows', openRow);
on('older', () => readOlder());
on('stop', () => stopping?.abort());
on('reload', load);
on('newest', toNewest);
on('live', togglePause);
on('theme', toggleTheme);
on('streams-state', () => openStreams(signedIn.signal));
on('close-streams', () => byId('streams').close());
on('show-help', () => byId('help').showModal());
on('close-detail', closeDetail);
on('detail', closeDetail, 'cancel');
on('newer-record', () => step(-1));
on('older-record', () => step(1));
on('single-keys', ({target}) => ofBrowser.set('annals.single-keys', target.checked), 'change');
addEventListener('keydown', pressed);
addEventListener('popstate', () => (takeLink() ? start() : route()));
addEventListener('scroll', () => missed > 0 && scrollY <= SETTLED_PX && showArrived(), {passive: true});
document.addEventListener('visibilitychange', showArrived);
systemDark.addEventListener('change', showTheme);

byId('single-keys').checked = ofBrowser.get('annals.single-keys') !== 'false';
listen({changed: verifyAll, marked: markRow});
showTheme();
showLive();
takeLink();
start();
if (!isLink && (token === null || isSession())) {
  enter();
}
