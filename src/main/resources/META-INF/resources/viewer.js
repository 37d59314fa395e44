// The viewer of a project's records: a client of the public API and nothing more.
//
// The address' fragment is the state: the filters, and the record whose detail is open. A link brings its token there, too.

import {
  FEED, Problem, ask, askJson, events, isLink, isSession, ofBrowser, ofTab, project, queryOf, setToken, token,
} from './api.js';
import * as columns from './columns.js';
import {awaitDays, endDays, forgetDays, loadDays} from './days.js';
import {awaitFacets, endFacets, forgetFacets, loadFacets, suggest} from './facets.js';
import * as projects from './projects.js';
import {wordsOf} from './query.js';
import {recordView} from './record.js';
import * as list from './rows.js';
import * as share from './share.js';
import {begin as beginStreams, end as endStreams, open as openStreams} from './streams.js';
import {button, byId, count, icon, line, make, parseJson, passFocus, records} from './text.js';
import {
  LAST, PRESETS, fieldTime, isLocal, lastText, setLocal, startOf, timeOfField, timeText, zoneName,
} from './times.js';
import {MAX_NAME, begin as beginViews} from './views.js';
import {begin as beginProof, end as endProof, listen, verifyRecord, verifyRows} from './verify.js';

const PAGE_SIZE = 100;
/** Whoever has read far reads on in larger pages. */
const MAX_PAGE_SIZE = 1000;
const MAX_ARRIVED = 1000;
const MAX_ARRIVED_CHARACTERS = 16 << 20;
const MAX_PROVING = 100_000;
const SILENCE_MS = 60_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
const ANNOUNCE_MS = 5_000;
const DAYS_MS = 30_000;
const PROGRESS_MS = 100;
const SETTLED_PX = 40;
const GATHER_MS = 150;
const BEHIND_MS = 1_000;

/** The filters' names in the API and in the page; `last` is the page's own, and becomes a part of the query. */
const LABELS = {
  q: 'Search', action: 'Action', actor: 'Actor', subject: 'Subject', outcome: 'Outcome', ip_address: 'IP address',
  recorded_by: 'Recorded by', start: 'From', end: 'Until', last: 'Time',
};
const FILTERS = Object.keys(LABELS);
const FIELDS = FILTERS.filter((name) => name !== 'last');

const wide = matchMedia('(min-width: 60rem)');

// ---- The address ---------------------------------------------------------------------------------------------------

let filters = {};
let openId = null;
/** The sequence id of the record that the reader has come for, with what was recorded around it; null: the newest come first. */
let target = null;

/** The name of the view that is shown, and the columns that the address asks for. */
let view = null;
let wantedColumns = null;

/** The project that is shown. Where several are open, the address names it, so that going back leads to the right one. */
let shownProject = null;

function address(newFilters, recordId = null, newTarget = null, name = sameFilters(newFilters) ? view : null) {
  const parameters = new URLSearchParams(newFilters);
  const others = {
    columns: wantedColumns, view: name, at: newTarget, record: recordId, project: projects.areSeveral() ? shownProject : null,
  };
  Object.entries(others).filter(([, value]) => value).forEach(([key, value]) => parameters.set(key, value));
  return `#${parameters}`;
}

/** The address of a record, for whoever may have other projects open. */
function linkTo(record) {
  const parameters = new URLSearchParams({record: record.id, ...(project !== null && {project})});
  return new URL(`#${parameters}`, location.href).href;
}

const sameFilters = (others) => FILTERS.every((name) => filters[name] === others[name]);

/** The address of what is shown, as a view with a name. */
function viewAddress(name) {
  const parameters = new URLSearchParams(filters);
  parameters.set('columns', columns.columns.join());
  parameters.set('view', name);
  return `#${parameters}`;
}

function go(newFilters, recordId = null, {replace = false, at = null} = {}) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address(newFilters, recordId, at));
  route();
}

/** Makes the page show what the address says. */
function route(anew = false) {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const ofProject = parameters.get('project');
  const isElsewhere = token !== null && !isLink && ofProject !== null && ofProject !== project;
  if (isElsewhere && ID.test(ofProject) && projects.isOpen(ofProject)) {
    projects.use(ofProject);
    endProject();
    start();
    return;
  }
  if (isElsewhere) {
    // Its records are not of the project that is open.
    ['at', 'record'].forEach((name) => parameters.delete(name));
  }
  shownProject = project;
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, parameters.get(name)]).filter(([, value]) => value));
  if (wanted.last !== undefined && (!LAST.test(wanted.last) || wanted.start !== undefined || wanted.end !== undefined)) {
    delete wanted.last;
  }
  const at = /^[1-9][0-9]{0,15}$/.test(parameters.get('at') ?? '') ? Number(parameters.get('at')) : null;
  const changed = !sameFilters(wanted) || at !== target;
  filters = wanted;
  target = at;
  view = parameters.get('view')?.slice(0, MAX_NAME) ?? null;
  wantedColumns = parameters.get('columns');
  const redraw = columns.take(wantedColumns);
  if (!token) {
    return;
  }
  byId('view-title').hidden = view === null;
  byId('view-title').textContent = view === null ? '' : line(view);
  if (redraw || anew) {
    columns.drawHeads(zoneName());
    list.redrawAll();
  }
  if (changed || anew) {
    showFilters();
    load();
  }
  openDetail(parameters.get('record'));
  if (isElsewhere) {
    fail(new Problem(0, 'This address is of another project, which is not open in this tab. Open it under “Projects”, with a token of it.'));
  }
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
    setToken(given, {fromLink: true});
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
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
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
  } else if (token === null && session.subject !== null) {
    await enterProject();
  } else if (isSession() || session.subject !== null) {
    projects.askGranted().catch(() => {});
  }
}

/** Reads one of the projects that are open to who has signed in. */
async function enterProject() {
  try {
    const open = await projects.askGranted();
    if (open.length === 0) {
      throw new Problem(0, 'You have signed in, but no project is open to you. Ask the administrator for a grant.');
    }
    const address = ofTab.get(ADDRESS);
    ofTab.remove(ADDRESS);
    if (address && location.hash.length < 2) {
      history.replaceState(null, '', address);
    }
    const wanted = new URLSearchParams(location.hash.slice(1)).get('project');
    projects.use((open.find(({id}) => id === wanted) ?? open[0]).id);
    start();
  } catch (problem) {
    setToken(null);
    byId('sign-in-error').textContent = problem.message;
  }
}

/** Shows another project with the same filters, columns and view, but without the record that was open. */
function changeProject(id) {
  if (shownProject !== null) {
    history.replaceState(null, '', address(filters, openId, target));
  }
  projects.use(id);
  shownProject = id;
  history.pushState(null, '', address(filters));
  endProject();
  start();
  byId('announce').textContent = `Project ${line(projects.nameOf(id))}`;
}

/** Of the project that was shown nothing is left. */
function endProject() {
  signedIn.abort();
  loading.abort();
  verifying.abort();
  endProof();
  endStreams();
  share.end();
  endFacets();
  endDays();
  clearRows();
  openId = null;
  byId('detail').close();
  byId('detail-body').replaceChildren();
}

/** Shows what the address says, with the log's newest checkpoint verified beside it. */
function start() {
  show();
  projects.show();
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
    await projects.take(given);
    byId('token').value = '';
    start();
  } catch (problem) {
    error.textContent = problem.message;
    byId('token').select();
  }
}

/** @param reason why what is in use has ended: then other projects stay open; without one, all of them end */
function signOut(reason = '') {
  if (isSession() || (reason === '' && projects.hasSession())) {
    ask('v1/session', {method: 'DELETE', cookie: true}).catch(() => {});
  }
  reason === '' ? projects.end() : projects.drop();
  endProject();
  shownProject = null;
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
  const {position, message} = problem;
  // In the query as the reader knows it.
  const place = position && Math.max(1, position - rangeOf(filters).length);
  byId('problem-text').textContent = problem.status === 401
    ? 'This link has ended. Open it again from where you found it.'
    : message.replace(`character ${position}:`, `character ${place}:`);
  byId('problem').hidden = false;
  if (position) {
    pointAt(place);
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

let loading = new AbortController();
let stopping = null;
/** What the reading that goes on has done so far, and at which end; empty while none goes on. */
let progress = '';
let reading = null;
/** The queries of the pages behind the last row and before the first one; null at the ends of the feed. */
const ends = {older: null, newer: null};
/** Whether more has arrived than is kept: then only a new load shows the newest. */
let detached = false;
/** The filters as the service is asked. A range that moves on with the clock is part of the query, as the service's clock counts. */
let asked = {};
/** The filters that the days are counted with, for which such a range starts when it is asked for. */
let counted = {};
/** Whether the counts belong to these filters. */
let isCounted = false;
/** The words that are searched for in messages. */
let words = [];

function clearRows() {
  list.clear();
  proving.clear();
  takeArrived();
  detached = false;
  showMissed();
}

const queryFrom = (more = {}) => `?${new URLSearchParams({order: 'desc', limit: PAGE_SIZE, ...more, ...asked})}`;

/** Takes what belongs before the first or behind the last row; what there was no room for can be read again. */
function take(end, found, follows = false) {
  const lost = end === 'older' ? list.addOlder(found, ends.older === null) : list.addNewer(found, follows);
  if (lost) {
    ends.older = queryFrom({cursor: list.oldest().sequence_id});
  }
}

/** What stands in the query before the reader's own part, so that this cannot change it. */
const rangeOf = ({last, q}) => (last === undefined ? '' : `last:${last}${q === undefined ? '' : ' ('}`);

function askFor({last, ...others}) {
  const {q = ''} = others;
  asked = last === undefined ? others : {...others, q: `${rangeOf(filters)}${q}${q && ')'}`};
  counted = last === undefined ? others : {...others, start: startOf(last)};
}

/** Shows the newest records that pass the filters, or those around the one that the reader has come for, and follows the feed. */
function load() {
  loading.abort();
  loading = new AbortController();
  endReading();
  byId('problem').hidden = true;
  unpoint();
  askFor(filters);
  isCounted = false;
  awaitDays();
  awaitFacets();
  share.refresh();
  words = wordsOf(filters.q ?? '');
  ends.older = target === null ? queryFrom() : queryFrom({cursor: target});
  ends.newer = target === null ? null : queryFrom({cursor: target - 1, order: 'asc'});
  clearRows();
  if (target === null) {
    showLive('connecting');
    readOn('older', true);
  } else {
    loadAround();
  }
}

/** Reads both ways from the record that the reader has come for, and shows it amid the others. */
async function loadAround() {
  const {signal} = loading;
  showLive('past');
  await readOn('newer');
  await readOn('older');
  const index = list.nearest(target);
  if (!signal.aborted && index >= 0) {
    list.reveal(index, 'center');
  }
  if (ends.newer !== null) {
    showCounts(signal);
  }
}

/** The query of a page that is as long as all that is loaded already, and for which there is room. */
const withSize = (query, end) => {
  const parameters = new URLSearchParams(query);
  const most = end === 'older' ? Math.min(MAX_PAGE_SIZE, list.room()) : MAX_PAGE_SIZE;
  parameters.set('limit', Math.min(most, Math.max(PAGE_SIZE, list.size())));
  return `?${parameters}`;
};

/** Whether there is more at an end, and room for it: newer rows push out the oldest ones. */
const goesOn = (end) => ends[end] !== null && (end === 'newer' || list.room() > 0);

/** Reads on at one end until there is a page's worth of rows, or the feed ends, or somebody says stop. */
async function readOn(end, isFirst = false) {
  const {signal} = loading;
  if (stopping || signal.aborted || !goesOn(end)) {
    return;
  }
  stopping = new AbortController();
  // Observed anew after each reading: the end may still be in sight, and that is not reported twice.
  endInSight.disconnect();
  reading = end;
  progress = 'Loading …';
  showEnds();
  let shownAt = performance.now();
  let found = 0;
  try {
    for (let pages = 0; goesOn(end) && found < PAGE_SIZE; pages++) {
      if (performance.now() - shownAt >= PROGRESS_MS) {
        shownAt = performance.now();
        progress = `Searching ${end} records: ${count.format(pages)} pages read, ${found} found`;
        showEnds();
      }
      const query = ends[end];
      const page = await askJson(FEED + withSize(query, end), {signal: AbortSignal.any([signal, stopping.signal])});
      if (signal.aborted) {
        return;
      }
      if (ends[end] !== query) {
        // New rows pushed out the last ones, which come before this page.
        continue;
      }
      ends[end] = queryOf(page.next);
      take(end, page.results);
      found += page.results.length;
      if ((isFirst && pages === 0) || (end === 'newer' && ends.newer === null)) {
        follow(queryOf(page.poll_more), signal);
        showCounts(signal);
      }
    }
    endReading();
    endInSight.observe(byId('end'));
    endInSight.observe(byId('start'));
  } catch (problem) {
    if (!signal.aborted) {
      endReading();
      isCounted || forgetCounts();
      fail(problem);
    }
  }
}

/** The counts of the query before are not those of this one, of which nothing could be read. */
function forgetCounts() {
  forgetDays();
  forgetFacets('Nothing is counted, because the records could not be read.');
  liveState === 'past' || showLive('off');
}

function endReading() {
  stopping = null;
  progress = '';
  showEnds();
}

/** Says at both ends what is not loaded, and why. */
function showEnds() {
  const focused = document.activeElement;
  const isRead = (end) => progress !== '' && reading === end;
  const full = list.room() === 0 && ends.older !== null;
  byId('older').hidden = progress !== '' || ends.older === null || full;
  byId('stop').hidden = !isRead('older');
  byId('go-on').hidden = !full;
  const filtered = Object.keys(filters).length > 0;
  const none = filtered ? 'No records match these filters.' : 'No records yet: they appear here as they are appended.';
  const all = filtered ? 'No further records match these filters.' : 'The beginning of the feed.';
  byId('progress').textContent = isRead('older')
    ? progress
    : full
      ? `${records(list.size())} are loaded, ${list.size() < list.MAX_ROWS
        ? `together ${count.format(Math.round(list.mebibytes() * 10) / 10)} MiB: as much`
        : 'as many'} as this page holds. Older ones are not shown.`
      : ends.older !== null ? '' : list.size() === 0 ? none : all;
  byId('start').hidden = ends.newer === null;
  byId('newer').hidden = progress !== '';
  byId('stop-newer').hidden = !isRead('newer');
  byId('newer-progress').textContent = isRead('newer') ? progress : '';
  byId('rows').parentElement.setAttribute('aria-busy', progress !== '');
  showLoaded();
  showMissed();
  passFocus(focused, ...['stop', 'stop-newer', 'older', 'newer', 'go-on', 'progress'].map(byId));
}

const spanOf = (first, last) => `, #${count.format(last.sequence_id)} to #${count.format(first.sequence_id)}`;

/** How much of the feed is loaded, in the caption of the rows. */
function showLoaded() {
  const left = [ends.newer !== null && 'newer', ends.older !== null && list.room() > 0 && 'older'].filter(Boolean);
  const span = list.size() === 0 ? '' : spanOf(list.newest(), list.oldest());
  byId('loaded').textContent = list.size() === 0 ? '' : `${records(list.size())} loaded${span}${
    left.length === 0 ? '' : `; ${left.join(' and ')} ones load as you scroll`}${
    ends.older !== null && list.room() === 0 ? '; older ones are left out' : ''}`;
}

/** Shows what comes behind the last row, without what is before it. */
const goOn = () => go(filters, null, {at: list.oldest().sequence_id});

const endInSight = new IntersectionObserver(
  // Of several entries at once the last one of each end tells how it is now.
  (entries) => {
    for (const [id, end] of [['end', 'older'], ['start', 'newer']]) {
      if (entries.findLast(({target: element}) => element.id === id)?.isIntersecting) {
        readOn(end);
      }
    }
  }, {rootMargin: '600px'});

function showCounts(signal) {
  isCounted = true;
  loadFacets({filters, asked, signal, select: (chosen) => go(chosen, wide.matches ? openId : null)});
  if (isLink) {
    return;
  }
  const newest = ends.newer === null ? list.newest() : undefined;
  loadDays({filters: counted, labels: LABELS, newest, select: (chosen) => go(chosen), signal});
}

// ---- Live ----------------------------------------------------------------------------------------------------------

let paused = false;
/** Records that have arrived and are not shown yet, oldest first; at most MAX_ARRIVED, and MAX_ARRIVED_CHARACTERS of JSON. */
const arrived = [];
let arrivedCharacters = 0;
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
          arrive(parseJson(event.data), event.data.length);
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

function arrive(record, characters) {
  missed++;
  arrivedCharacters += characters;
  if (arrived.push(record) > MAX_ARRIVED || arrivedCharacters > MAX_ARRIVED_CHARACTERS) {
    arrived.length = 0;
    arrivedCharacters = 0;
    detached = true;
  }
  if (missed === 1) {
    // One change of the page a frame, however fast records arrive; none while the tab is hidden.
    requestAnimationFrame(showArrived);
  } else {
    showMissed();
  }
}

/** All that has arrived, of which nothing waits any longer. */
function takeArrived() {
  missed = 0;
  arrivedCharacters = 0;
  return arrived.splice(0);
}

function showArrived() {
  if (missed === 0) {
    return;
  }
  if (Date.now() - announced > ANNOUNCE_MS) {
    announced = Date.now();
    byId('announce').textContent = `${records(missed)} new`;
    setTimeout(showCounts, DAYS_MS, loading.signal);
  }
  if (!paused && !detached && scrollY <= SETTLED_PX) {
    take('newer', takeArrived(), true);
    showEnds();
  }
  showMissed();
}

/** What is not in the list although it is newer than all that is. */
function showMissed() {
  const focused = document.activeElement;
  byId('newest').hidden = missed === 0 && !detached && ends.newer === null;
  byId('newest').textContent = missed > 0
    ? `${count.format(missed)} new ${missed === 1 ? 'record' : 'records'}`
    : ends.newer === null ? 'Newer records are left out: show them' : 'To the newest records';
  passFocus(focused, byId('records-title'));
}

/** Shows the newest records, paused or not. */
function toNewest() {
  scrollTo({top: 0});
  if (ends.newer !== null) {
    go(filters, wide.matches ? openId : null);
  } else if (detached) {
    load();
  } else {
    take('newer', takeArrived(), true);
    showEnds();
  }
}

function togglePause() {
  if (liveState === 'past') {
    toNewest();
    return;
  }
  paused = !paused;
  showLive();
  if (!paused) {
    toNewest();
  }
}

const LIVE = {past: 'Not live', live: 'Live', connecting: 'Connecting', waiting: 'Reconnecting', off: 'Not live'};
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
/** What the fields show of the filters that are on, which may be less: a field has one line. */
const shownIn = {};

function showFilters() {
  const chips = byId('chips');
  const focused = [...chips.children].indexOf(document.activeElement);
  for (const name of FIELDS) {
    const filter = filters[name] ?? '';
    form.elements[name].value = isTime(name) ? fieldTime(filter) : filter;
    shownIn[name] = form.elements[name].value;
    form.elements[name].classList.toggle('active', filter !== '');
  }
  showRange();
  const names = Object.keys(filters);
  chips.hidden = names.length === 0;
  chips.replaceChildren(
    ...names.map((name) => chip(name, filters[name])),
    ...(names.length > 1 ? [button({class: 'quiet'}, () => go({}), 'Clear all')] : []));
  if (focused >= 0) {
    (chips.children[Math.min(focused, names.length - 1)] ?? form.elements.q).focus();
  }
}

const isTime = (name) => name === 'start' || name === 'end';

/** A filter's value as people read it. */
const filterText = (name, text) => (isTime(name) ? timeText(text) : name === 'last' ? lastText(text) : text);

/** The range of time that is on, in the button that changes it, and the zone that times are shown in. */
function showRange() {
  const {start, end, last} = filters;
  const span = [start && `from ${timeText(start)}`, end && `until ${timeText(end)}`].filter(Boolean).join(' ');
  byId('range-text').textContent = last ? lastText(last) : span ? span[0].toUpperCase() + line(span.slice(1)) : 'All times';
  byId('presets').replaceChildren(...Object.entries({...PRESETS, all: 'All times'}).map(([name, text]) =>
    button({'aria-pressed': name === (last ?? (start || end ? '' : 'all'))}, () => choosePreset(name), text)));
  document.querySelectorAll('.zone-name').forEach((element) => (element.textContent = zoneName()));
  byId('zone').setAttribute('aria-pressed', isLocal);
}

function choosePreset(name) {
  const {start, end, last, ...others} = filters;
  byId('range-panel').hidePopover();
  go(name === 'all' ? others : {...others, last: name});
}

/** Shows all times in the other zone. */
function toggleZone() {
  setLocal(!isLocal);
  columns.drawHeads(zoneName());
  showFilters();
  list.redrawAll();
  if (openRecord !== null) {
    showDetail(openRecord);
  }
}

/** A filter that is on, and that a click takes away. */
function chip(name, filter) {
  const {[name]: _, ...others} = filters;
  const text = filterText(name, filter);
  return button({'aria-label': `Remove the filter ${LABELS[name]} ${line(text)}`}, () => go(others),
    make('span', {class: 'dim'}, LABELS[name]), list.value(text), icon('m5.5 5.5 9 9m0-9-9 9'));
}

function applyFilters(submit) {
  submit.preventDefault();
  const given = FIELDS.map((name) => {
    const text = form.elements[name].value;
    // What nobody has changed stays as it is, also where the field does not show all of it.
    return [name, text === shownIn[name] ? filters[name] : isTime(name) ? timeOfField(text) : text.trim()];
  });
  const wanted = Object.fromEntries(given.filter(([, text]) => text));
  byId('range-panel').hidePopover();
  go(filters.last && !wanted.start && !wanted.end ? {...wanted, last: filters.last} : wanted);
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
  const asker = token;
  openId = id;
  openRecord = null;
  verifying.abort();
  list.showCurrent();
  if (id === null) {
    detail.close();
    return;
  }
  byId('detail-body').replaceChildren();
  byId('detail-title').textContent = 'Record';
  if (!detail.open) {
    detail[wide.matches ? 'show' : 'showModal']();
    byId('detail-title').focus();
  }
  try {
    const record = list.recordOf(id) ?? (await askJson(`${FEED}/${encodeURIComponent(id)}`));
    if (openId === id && token) {
      showDetail(record);
    }
  } catch (problem) {
    if (problem.status === 401) {
      token === asker && fail(problem);
    } else if (openId === id) {
      byId('detail-body').replaceChildren(make('p', {class: 'error', role: 'alert'}, problem.message));
    }
  }
}

function closeDetail() {
  if (openId !== null) {
    const index = list.indexOf(openId);
    go(filters, null, {replace: true, at: target});
    (index >= 0 ? list.reveal(index).querySelector('a') : byId('records-title')).focus();
  }
}

/** The records that were asked to be proved. */
const proving = new Set();
let isProving = false;

/** Proves what is in sight, in one go after the other, so that however fast rows pass the service is asked now and then. */
async function verifyInSight() {
  if (isProving || isLink || token === null) {
    return;
  }
  isProving = true;
  try {
    let found;
    do {
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      const {signal} = loading;
      found = list.inSight().filter(({id}) => !proving.has(id));
      if (proving.size > MAX_PROVING) {
        proving.clear();
      }
      found.forEach(({id}) => proving.add(id));
      const behind = found.length > 0 && !signal.aborted ? await verifyRows(found, signal, list.replace) : [];
      if (behind.length > 0 && !signal.aborted) {
        behind.forEach(({id}) => proving.delete(id));
        await new Promise((resolve) => setTimeout(resolve, BEHIND_MS));
      }
    } while (found.length > 0);
  } finally {
    isProving = false;
  }
}

/** Proves the record that is open, and all rows in sight, anew. */
function verifyAll() {
  verifyOpen();
  list.clearMarks();
  proving.clear();
  verifyInSight();
}

/** Proves the record that is open. */
function verifyOpen() {
  if (openRecord === null || isLink) {
    return;
  }
  verifying.abort();
  verifying = new AbortController();
  verifyRecord(openRecord, byId('detail-proof'), verifying.signal, (record) => {
    list.replace(record);
    showDetail(record);
  });
}

/** The address of what was recorded around a record. A phone shows it in place of the record. */
const around = (like, record) => address(like, wide.matches ? record.id : null, record.sequence_id);

function showDetail(record) {
  openRecord = record;
  byId('detail-title').replaceChildren(list.value(record.action));
  byId('detail-body').replaceChildren(...recordView(record, {
    filters: () => filters,
    go: (wanted) => go(wanted, wide.matches ? openId : null),
    around,
    paintMessage: list.highlighted,
    link: linkTo(record),
  }));
  byId('detail-body').scrollTop = 0;
  verifyOpen();
}

// ---- On paper ------------------------------------------------------------------------------------------------------

/** Says on paper what it shows, and what is not on it. */
function drawForPrint() {
  list.drawForPrint();
  const printed = Math.min(list.size(), list.MAX_PRINTED);
  const left = list.size() - printed;
  const missing = [
    left > 0 && `${count.format(left)} more that are loaded`, ends.newer !== null && 'newer ones', (detached || missed > 0) && 'those that have just arrived',
    ends.older !== null && 'older ones',
  ].filter(Boolean);
  const names = Object.keys(filters);
  const rows = [
    ...(view === null ? [] : [make('p', {}, make('b', {}, 'View: '), list.value(view))]),
    ...names.map((name) => make('p', {}, make('b', {}, `${LABELS[name]}: `), list.value(filterText(name, filters[name])))),
    make('p', {}, `${records(printed)}${list.size() === 0 ? '' : spanOf(list.newest(), list.recordAt(printed - 1))}.${
      missing.length === 0 ? '' : ` Not on paper: ${missing.join(', ')}.`}`),
  ];
  // What covers the page is printed from its own beginning on.
  (detail.open ? detail : document.body).prepend(byId('paper'));
  byId('paper').replaceChildren(
    make('h1', {}, `Annals · ${line(projects.nameOf(project)) || 'Records'}`),
    ...(detail.open ? [] : rows),
    make('p', {class: 'dim'}, `Printed ${timeText(new Date().toISOString().replace(/\.\d+/, ''))}`));
}

// ---- Keys ----------------------------------------------------------------------------------------------------------

/** Goes to the row after or before the current one, and takes an open detail along. */
function step(direction) {
  const current = document.activeElement.closest?.('#rows tr')?.dataset.id ?? openId;
  const index = current === null ? 0 : list.indexOf(current) + direction;
  if (index < 0 || index >= list.size()) {
    return;
  }
  const row = list.reveal(index);
  if (detail.open) {
    go(filters, row.dataset.id, {replace: true, at: target});
    byId('detail-title').focus();
  } else {
    row.querySelector('a').focus();
  }
}

const SINGLE_KEYS = {
  j: () => step(1),
  k: () => step(-1),
  p: togglePause,
  g: toNewest,
  o: () => !byId('project').hidden && projects.openDialog(),
  '/': () => form.elements.q.focus(),
  '?': () => byId('help').showModal(),
};

function pressed(event) {
  if (!token || event.ctrlKey || event.metaKey || event.altKey || event.isComposing
    || document.querySelector('dialog:modal:not(#detail), :popover-open')) {
    return;
  }
  const writes = event.target.closest('input:not([type="checkbox"])');
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
  if (expanded) {
    suggest();
  }
}

const on = (id, handler, type = 'click') => byId(id).addEventListener(type, handler);

on('sign-in-form', signIn, 'submit');
on('sign-out', () => signOut());
on('provider-sign-in', leaveForProvider);
on('filters', applyFilters, 'submit');
on('more-filters', toggleFilters);
on('rows', openRow);
on('older', () => readOn('older'));
on('newer', () => readOn('newer'));
on('go-on', goOn);
on('stop-newer', () => stopping?.abort());
on('stop', () => stopping?.abort());
on('reload', () => {
  byId('records-title').focus({preventScroll: true});
  load();
});
on('newest', toNewest);
on('live', togglePause);
on('theme', toggleTheme);
on('zone', toggleZone);
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
list.begin({
  link: (record) => address(filters, record.id, target),
  words: () => words,
  open: () => openId,
  target: () => target,
  settled: verifyInSight,
});
columns.begin(() => {
  wantedColumns = null;
  history.replaceState(null, '', address(filters, openId, target, null));
  view = null;
  byId('view-title').hidden = true;
  columns.drawHeads(zoneName());
  list.redrawAll();
});
share.begin(() => ({
  filters,
  asked,
  target,
  parameters: {
    order: 'desc',
    limit: Math.min(MAX_PAGE_SIZE, Math.max(1, list.size())),
    ...(ends.newer !== null && list.size() > 0 && {cursor: list.newest().sequence_id + 1}),
  },
}));
beginViews(viewAddress);
projects.begin(changeProject);
addEventListener('beforeprint', drawForPrint);
addEventListener('afterprint', list.redrawAll);
listen({changed: verifyAll, marked: list.mark});
showTheme();
showLive();
takeLink();
start();
if (!isLink) {
  enter();
}
