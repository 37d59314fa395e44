// Loads the records that pass the filters, at both ends of the rows, and follows the feed.

import {FEED, Problem, ask, askJson, events, queryOf} from './api.js';
import {go, ifWide} from './address.js';
import {awaitChart, forgetChart, loadChart} from './chart.js';
import {awaitFacets, forgetFacets, loadFacets} from './facets.js';
import {wordsOf} from './query.js';
import {fail} from './session.js';
import * as share from './share.js';
import {addNewer, addOlder, clearRecords, newest, oldest, room, set, size, state, watch} from './store.js';
import {byId, parseJson, records} from './text.js';

const PAGE_SIZE = 100;
/** A reader who has scrolled far gets larger pages. */
export const MAX_PAGE_SIZE = 1000;
const MAX_ARRIVED = 1000;
const MAX_ARRIVED_CHARACTERS = 16 << 20;
const SILENCE_MS = 60_000;
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
const ANNOUNCE_MS = 5_000;
const COUNTS_MS = 30_000;
const PROGRESS_MS = 100;
/** Up to this far from its top the page follows the feed. */
const SETTLED_PX = 40;

let loading = new AbortController();
let stopping = null;
/** Whether the counts beside the rows belong to these filters. */
let isCounted = false;
/** Records that wait to be shown, oldest first; at most MAX_ARRIVED, and MAX_ARRIVED_CHARACTERS of JSON. */
let arrived = [];
let arrivedCharacters = 0;
let announcedAt = 0;

/** Aborted when other records are loaded. */
export const signal = () => loading.signal;

const queryFrom = (more = {}) => `?${new URLSearchParams({order: 'desc', limit: PAGE_SIZE, ...more, ...state.asked})}`;

/** The text before the reader's own query. The parentheses keep that query from changing the range. */
export const rangeOf = ({last, q}) => (last === undefined ? '' : `last:${last}${q === undefined ? '' : ' ('}`);

/** The filters for the service. */
function askedFor(filters) {
  const {last, ...others} = filters;
  const {q = ''} = others;
  return last === undefined ? others : {...others, q: `${rangeOf(filters)}${q}${q && ')'}`};
}

function clear(changes) {
  loading.abort();
  loading = new AbortController();
  stopping = null;
  takeArrived();
  clearRecords();
  set({...changes, searched: null, reading: null, missed: 0, detached: false, loaded: {above: 0}});
}

watch(['project'], ({project}) => {
  if (project === null) {
    clear();
    loading.abort();
  }
});

/** Loads the newest records that pass the filters, or those around the target, and follows the feed. */
export function load() {
  const {filters, target} = state;
  isCounted = false;
  set({asked: askedFor(filters), words: wordsOf(filters.q ?? ''), problem: null});
  awaitChart();
  awaitFacets();
  share.refresh();
  clear({
    ends: target === null
      ? {older: queryFrom(), newer: null}
      : {older: queryFrom({cursor: target}), newer: queryFrom({cursor: target - 1, order: 'asc'})},
    live: target === null ? 'connecting' : 'past',
  });
  if (target === null) {
    readOn('older', true);
  } else {
    loadAround();
  }
}

/** Reads in both directions from the target. The rows view scrolls to it when both are there. */
async function loadAround() {
  const own = signal();
  await readOn('newer');
  await readOn('older');
  if (!own.aborted) {
    set({around: state.target});
  }
  if (state.ends.newer !== null) {
    showCounts(own);
  }
}

// ---- Pages ---------------------------------------------------------------------------------------------------------

/** Adds records at one end, with the query of the page that follows. Dropped records can be read again. */
function take(end, found, next) {
  const {above, dropped} = end === 'older' ? addOlder(found, next === null) : addNewer(found, false);
  set({ends: {...state.ends, [end]: next, ...(dropped && againFromOldest())}, loaded: {above}});
}

function addSearched(part) {
  if (part) {
    const {from, through} = state.searched ?? part;
    state.searched = {...part, from: Math.min(from, part.from), through: Math.max(through, part.through)};
  }
}

const againFromOldest = () => ({older: queryFrom({cursor: oldest().sequence_id})});

/** A query for as many records as are loaded already, within the limits. */
function withSize(query, end) {
  const parameters = new URLSearchParams(query);
  const most = end === 'older' ? Math.min(MAX_PAGE_SIZE, room()) : MAX_PAGE_SIZE;
  parameters.set('limit', Math.min(most, Math.max(PAGE_SIZE, size())));
  return `?${parameters}`;
}

/** Whether one end can be read on. Newer records push out the oldest, so only older ones need room. */
const canRead = (end) => state.ends[end] !== null && (end === 'newer' || room() > 0);

/** Reads on at one end until a page's worth of rows is found, the feed ends, or the reader says stop. */
export async function readOn(end, isFirst = false) {
  const own = signal();
  if (stopping || own.aborted || !canRead(end)) {
    return;
  }
  stopping = new AbortController();
  // Observed anew after the reading: the observer does not report again an end that stays in sight.
  endInSight.disconnect();
  const either = AbortSignal.any([own, stopping.signal]);
  set({reading: {end, pages: 0, found: 0}});
  let shownAt = performance.now();
  let found = 0;
  try {
    for (let pages = 0; canRead(end) && found < PAGE_SIZE; pages++) {
      if (performance.now() - shownAt >= PROGRESS_MS) {
        shownAt = performance.now();
        set({reading: {end, pages, found}});
      }
      const query = state.ends[end];
      const page = await askJson(FEED + withSize(query, end), {signal: either});
      if (own.aborted) {
        return;
      }
      if (state.ends[end] !== query) {
        // Records that arrived meanwhile pushed out the last rows, and this page would leave a gap.
        continue;
      }
      addSearched(page.search);
      take(end, page.results, queryOf(page.next));
      found += page.results.length;
      if ((isFirst && pages === 0) || (end === 'newer' && state.ends.newer === null)) {
        follow(queryOf(page.poll_more), own);
        showCounts(own);
      }
    }
    stopping = null;
    set({reading: null});
    endInSight.observe(byId('end'));
    endInSight.observe(byId('start'));
  } catch (problem) {
    if (!own.aborted) {
      stopping = null;
      set({reading: null});
      isCounted || forgetCounts();
      fail(problem);
    }
  }
}

const endInSight = new IntersectionObserver(
  // The last entry of each end is its state now.
  (entries) => {
    for (const [id, end] of [['end', 'older'], ['start', 'newer']]) {
      if (entries.findLast(({target}) => target.id === id)?.isIntersecting) {
        readOn(end);
      }
    }
  }, {rootMargin: '600px'});

export const stop = () => stopping?.abort();

/** Shows the records after the last row in place of those that are loaded. */
export const goOn = () => go(state.filters, null, {at: oldest().sequence_id});

function showCounts(own) {
  isCounted = true;
  const {filters, asked, ends} = state;
  const counted = {
    filters, asked, newest: ends.newer === null ? newest() : undefined, signal: own, select: (chosen) => go(chosen, ifWide(state.openId)),
  };
  loadFacets(counted);
  loadChart(counted);
}

/** Removes the counts of the query before this one, whose records could not be read. */
function forgetCounts() {
  forgetChart();
  forgetFacets('Nothing is counted, because the records could not be read.');
  state.live === 'past' || set({live: 'off'});
}

// ---- Following the feed --------------------------------------------------------------------------------------------

/** Streams what is appended from now on, through broken connections, until the signal. */
async function follow(query, own) {
  let lastId = null;
  let retry = RETRY_MS;
  let failures = 0;
  while (!own.aborted) {
    const silence = new AbortController();
    let timer;
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
    };
    let wait = 0;
    try {
      set({live: failures ? 'waiting' : 'connecting'});
      alive();
      const answer = await ask(`${FEED}/stream${query}`, {
        signal: AbortSignal.any([own, silence.signal]),
        headers: {Accept: 'text/event-stream', ...(lastId && {'Last-Event-ID': lastId})},
      });
      set({live: 'live'});
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
      if (!own.aborted && problem.status >= 400 && problem.status < 500) {
        set({live: 'off'});
        fail(problem);
        return;
      }
      wait = (problem.retryAfter ?? 0) * 1000;
    } finally {
      clearTimeout(timer);
    }
    if (!own.aborted) {
      set({live: 'waiting'});
      const pause = Math.min(MAX_RETRY_MS, retry * 2 ** failures++) * (0.5 + Math.random() / 2);
      await new Promise((resolve) => setTimeout(resolve, Math.max(wait, pause)));
    }
  }
}

function arrive(record, characters) {
  arrivedCharacters += characters;
  const isTooMuch = arrived.push(record) > MAX_ARRIVED || arrivedCharacters > MAX_ARRIVED_CHARACTERS;
  if (isTooMuch) {
    takeArrived();
  }
  set({missed: state.missed + 1, detached: state.detached || isTooMuch});
  if (state.missed === 1) {
    // One change of the page a frame, however fast records arrive; none while the tab is hidden.
    requestAnimationFrame(showArrived);
  }
}

function takeArrived() {
  const taken = arrived;
  arrived = [];
  arrivedCharacters = 0;
  return taken;
}

function addArrived() {
  const {dropped} = addNewer(takeArrived(), true);
  set({missed: 0, loaded: {above: 0}, ...(dropped && {ends: {...state.ends, ...againFromOldest()}})});
}

/** Shows the records that have arrived, unless the reader has paused the page or scrolled away from its top. */
export function showArrived() {
  if (state.missed === 0) {
    return;
  }
  if (Date.now() - announcedAt > ANNOUNCE_MS) {
    announcedAt = Date.now();
    byId('announce').textContent = `${records(state.missed)} new`;
    setTimeout(showCounts, COUNTS_MS, signal());
  }
  if (!state.paused && !state.detached && scrollY <= SETTLED_PX) {
    addArrived();
  }
}

export const scrolled = () => scrollY <= SETTLED_PX && showArrived();

/** Shows the newest records, paused or not. */
export function toNewest() {
  scrollTo({top: 0});
  if (state.ends.newer !== null) {
    go(state.filters, ifWide(state.openId));
  } else if (state.detached) {
    load();
  } else {
    addArrived();
  }
}

export function togglePause() {
  if (state.live === 'past') {
    toNewest();
    return;
  }
  set({paused: !state.paused});
  if (!state.paused) {
    toNewest();
  }
}
