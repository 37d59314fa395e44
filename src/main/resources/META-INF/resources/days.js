// The records of each day as bars: one tab stop, arrow keys between the days, and a click that filters by the day.

import {FEED, askJson} from './api.js';
import {byId, count, make, outcomeKind, records} from './text.js';

/** The earliest day of a record. */
const FIRST_DAY = Date.parse('0001-01-01T00:00:00Z');

const DAY_MS = 86_400_000;
const LAG_MS = 2_000;
const LAG_TRIES = 5;
const dayOf = (time) => new Date(time).toISOString().slice(0, 10);
const dayName = new Intl.DateTimeFormat('en-GB', {weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC'});
const shortDay = new Intl.DateTimeFormat('en-GB', {day: 'numeric', month: 'short', timeZone: 'UTC'});
const dayWithYear = new Intl.DateTimeFormat('en-GB', {day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC'});
const KINDS = ['success', 'other', 'failure'];
/** The filters that the statistics know. */
const STATISTICS = ['action', 'outcome'];
/** The distance of the last day shown from today, at first that of the newest record. */
let daysBack = null;
/** The arguments of the last drawing. */
let view = null;

/**
 * Counts and draws the days, and hides them if the service has no statistics. Statistics know action and outcome only. With other filters
 * the records are counted; if that fails, a note names the filters that the bars ignore.
 *
 * @param filters the current filters: a day outside their times is drawn pale
 * @param labels the filters' names in the page
 * @param newest the newest record, or undefined: statistics follow the feed with a delay, and are read again until they include it
 * @param select applies the filters of a click on a day
 */
export async function loadDays({filters, labels, newest, select, signal, tries = LAG_TRIES}) {
  if (signal.aborted) {
    return;
  }
  const own = view = {filters, labels, newest, select, signal};
  const today = Math.floor(Date.now() / DAY_MS);
  daysBack ??= newest ? Math.max(0, today - Math.floor(Date.parse(newest.timestamp) / DAY_MS)) : 0;
  const days = matchMedia('(min-width: 60rem)').matches ? 60 : 30;
  const start = Math.max(FIRST_DAY, (today - daysBack + 1 - days) * DAY_MS);
  try {
    const {statistics, counted} = await countRecords(start, start + days * DAY_MS, filters, signal)
      ?? await countDays(start, start + days * DAY_MS, filters, signal);
    if (view !== own) {
      // Other days have been asked for since.
      return;
    }
    drawHistogram(statistics, counted, start, days);
    byId('histogram').hidden = false;
    byId('histogram').setAttribute('aria-busy', 'false');
    byId('histogram-error').hidden = true;
    if (newest && statistics.through < newest.sequence_id && tries > 0) {
      setTimeout(loadDays, LAG_MS, {...view, tries: tries - 1});
    }
  } catch (problem) {
    if (problem.name === 'AbortError' || view !== own) {
      return;
    }
    forgetDays();
    byId('histogram-error').hidden = problem.status === 404;
    byId('histogram-error').textContent = `The days cannot be shown: ${problem.message}`;
  }
}

/**
 * Counts the records of the days for filters that statistics do not know. Null without such filters, or if counting fails.
 */
async function countRecords(start, end, filters, signal) {
  const {start: from, end: until, ...others} = filters;
  if (Object.keys(others).every((name) => STATISTICS.includes(name))) {
    return null;
  }
  const parameters = {...others, start: new Date(start).toISOString(), end: new Date(end).toISOString(), interval: 'day', top: 1};
  try {
    const {through, complete, intervals} = await askJson(`${FEED}/facets?${new URLSearchParams(parameters)}`, {signal});
    const results = intervals.flatMap(({start: day, count: all, outcomes}) => [
      ...outcomes.map(({value, count: some}) => ({day, outcome: value, count: some})),
      {day, outcome: null, count: all - outcomes.reduce((sum, {count: some}) => sum + some, 0)},
    ]);
    return {statistics: {through, results, complete}, counted: Object.keys(others)};
  } catch (problem) {
    if (problem.name === 'AbortError') {
      throw problem;
    }
    return null;
  }
}

/** The statistics of the days, and the filters that they know. */
async function countDays(start, end, filters, signal) {
  const ask = (by) =>
    askJson(`${FEED}/statistics?${new URLSearchParams({start: dayOf(start), end: dayOf(end), by})}`, {signal});
  if (filters.action) {
    try {
      return {statistics: await ask('day,outcome,action'), counted: ['action', 'outcome']};
    } catch (problem) {
      // Too many actions to be counted one by one.
      if (problem.status !== 422) {
        throw problem;
      }
    }
  }
  return {statistics: await ask('day,outcome'), counted: ['outcome']};
}

function drawHistogram({results, others, complete = true}, counted, start, length) {
  const {filters, labels} = view;
  const chosen = counted.filter((name) => filters[name]);
  const days = Array.from({length}, (_, i) => ({start: start + i * DAY_MS, total: 0, success: 0, other: 0, failure: 0}));
  for (const result of results) {
    const bar = days[(Date.parse(result.day) - start) / DAY_MS];
    if (bar && chosen.every((name) => !(name in result) || result[name] === filters[name])) {
      bar.total += result.count;
      bar[outcomeKind(result.outcome ?? undefined)] += result.count;
    }
  }
  const highest = Math.max(1, ...days.map((day) => day.total));
  const svg = byId('bars');
  const focused = [...svg.children].indexOf(document.activeElement);
  svg.setAttribute('viewBox', `0 0 ${length * 10} 100`);
  svg.replaceChildren(...days.map((day, i) => drawDay(day, i * 10, highest)));
  const tabStop = svg.children[focused] ?? svg.querySelector('[aria-pressed=true]') ?? svg.lastElementChild;
  tabStop.setAttribute('tabindex', 0);
  if (focused >= 0) {
    svg.children[focused]?.focus();
  }
  const total = days.reduce((sum, day) => sum + day.total, 0);
  // A day with very many combinations has some that are not counted separately.
  const least = !complete || (chosen.length > 0 && others > 0) ? 'At least ' : '';
  const last = start + (length - 1) * DAY_MS;
  const upTo = daysBack > 0 ? ` up to ${dayWithYear.format(last)}` : '';
  const text = byId('histogram-text');
  text.dataset.text = `${least}${records(total)} in ${length} days${upTo}`;
  text.textContent = text.dataset.text;
  const unknown = Object.keys(filters).filter((name) => !['start', 'end', ...chosen].includes(name));
  byId('histogram-note').hidden = unknown.length === 0;
  byId('histogram-note').textContent =
    `The bars do not follow ${unknown.length === 1 ? 'this filter' : 'these filters'}: ${unknown.map((name) => labels[name]).join(', ')}.`;
  byId('histogram-scale').textContent = `${count.format(highest)} a day`;
  const thisYear = new Date(start).getUTCFullYear() === new Date().getUTCFullYear();
  const format = thisYear && daysBack === 0 ? shortDay : dayWithYear;
  byId('histogram-axis').replaceChildren(
    ...[0, 1 / 3, 2 / 3, 1].map((part) => make('span', {}, format.format(start + Math.round(part * (length - 1)) * DAY_MS))));
}

function dayText(day) {
  const failures = day.failure ? `, ${count.format(day.failure)} failed` : '';
  return `${dayName.format(day.start)}: ${records(day.total)}${failures}`;
}

function drawDay(day, x, highest) {
  const {filters} = view;
  const from = new Date(day.start).toISOString().replace('.000Z', 'Z');
  const to = new Date(day.start + DAY_MS).toISOString().replace('.000Z', 'Z');
  const selected = filters.start === from && filters.end === to;
  const outside = (filters.start && to <= filters.start) || (filters.end && from >= filters.end);
  const group = make(
    'g',
    {class: outside ? 'day outside' : 'day', role: 'button', tabindex: -1, 'aria-pressed': selected, 'aria-label': dayText(day)},
    make('rect', {class: 'hit', x, y: 0, width: 10, height: 100}));
  let y = 100;
  for (const kind of KINDS.filter((name) => day[name] > 0)) {
    const height = Math.max(1.5, (day[kind] / highest) * 96);
    y -= height;
    group.append(make('rect', {class: kind, x: x + 1.2, y, width: 7.6, height}));
  }
  const text = byId('histogram-text');
  const tell = () => view !== null && (text.textContent = dayText(day));
  const hush = () => (text.textContent = text.dataset.text);
  for (const [type, handler] of Object.entries({pointerenter: tell, focus: tell, pointerleave: hush, blur: hush})) {
    group.addEventListener(type, handler);
  }
  group.addEventListener('click', () => {
    const {start, end, ...others} = filters;
    view?.filters === filters && view.select(selected ? others : {...others, start: from, end: to});
  });
  return group;
}

function moved(event) {
  const target = {ArrowLeft: 'previousElementSibling', ArrowRight: 'nextElementSibling'}[event.key];
  if (target && event.target[target]) {
    event.preventDefault();
    event.target.setAttribute('tabindex', -1);
    event.target[target].setAttribute('tabindex', 0);
    event.target[target].focus();
  } else if (event.key === 'Enter' || event.key === ' ') {
    event.preventDefault();
    event.target.dispatchEvent(new MouseEvent('click'));
  }
}

/** Marks the bars as outdated until this query is counted. */
export function awaitDays() {
  view = null;
  byId('histogram').setAttribute('aria-busy', 'true');
  byId('histogram-text').textContent = byId('histogram-text').dataset.text = 'Counting …';
  byId('histogram-error').hidden = true;
}

/** Removes the bars. */
export function forgetDays() {
  view = null;
  byId('histogram').hidden = true;
  byId('histogram').setAttribute('aria-busy', 'false');
  byId('histogram-error').hidden = true;
  ['bars', 'histogram-text', 'histogram-scale', 'histogram-axis', 'histogram-note'].forEach((id) => byId(id).replaceChildren());
}

/** Removes the bars of the project, and returns to its newest days. */
export function endDays() {
  forgetDays();
  daysBack = null;
}

function shiftDays(days) {
  if (view === null) {
    return;
  }
  const most = Math.floor(Date.now() / DAY_MS) - FIRST_DAY / DAY_MS;
  daysBack = Math.min(most, Math.max(0, daysBack - days));
  loadDays(view);
}

byId('bars').addEventListener('keydown', moved);
byId('earlier').addEventListener('click', () => shiftDays(-30));
byId('later').addEventListener('click', () => shiftDays(30));
