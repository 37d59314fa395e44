// The number of records that match, and when they were: bars over the time that is looked at, from minutes to years. One tab stop, arrow
// keys between the bars, and a click that narrows the time to a bar.

import {FEED, askJson, isLink} from './api.js';
import {counts} from './facets.js';
import {byId, count, make, outcomeKind, records} from './text.js';
import {momentOf, startOf} from './times.js';

/** The earliest and the latest time of a record. */
const FIRST = Date.parse('0001-01-01T00:00:00Z');
const LAST = Date.parse('9999-12-31T00:00:00Z');

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const LENGTHS = {minute: MINUTE_MS, hour: 60 * MINUTE_MS, day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS, year: 365 * DAY_MS};
/** At most so many bars of days, weeks or months; years are as many as there are. */
const MOST = 120;
const MOST_YEARS = 400;
/** Without a range of time, so few bars are preceded by empty ones. */
const FEWEST = 30;
const KINDS = ['success', 'other', 'failure'];
/** The filters that the statistics know. They count days in the background, however many records there are. */
const STATISTICS = ['action', 'outcome', 'start', 'end'];
/** Up to this sequence id all records are counted. */
const FEW = 50_000;
const DAYS = 4;
const LAG_MS = 2_000;
const LAG_TRIES = 5;

const named = (options) => new Intl.DateTimeFormat('en-GB', {timeZone: 'UTC', ...options});
const DAY = {weekday: 'short', day: 'numeric', month: 'short', year: 'numeric'};
const TIME = {hour: '2-digit', minute: '2-digit'};
const dayName = named(DAY);
const timeName = named({...DAY, ...TIME});
const NAMES = {
  minute: timeName, hour: timeName, day: dayName, week: {format: (start) => `Week from ${dayName.format(start)}`},
  month: named({month: 'long', year: 'numeric'}), year: named({year: 'numeric'}),
};
const AXIS = {
  minute: {day: 'numeric', month: 'short', ...TIME}, hour: {day: 'numeric', month: 'short', ...TIME},
  day: {day: 'numeric', month: 'short'}, week: {day: 'numeric', month: 'short'}, month: {month: 'short', year: 'numeric'}, year: {year: 'numeric'},
};

/** The arguments of the last drawing. */
let view = null;

// ---- Intervals in UTC ----------------------------------------------------------------------------------------------

const date = (year, month) => new Date(0).setUTCFullYear(year, month, 1);

/** The start of the interval of a moment. */
function startIn(interval, moment) {
  const at = new Date(moment);
  if (interval === 'month' || interval === 'year') {
    return date(at.getUTCFullYear(), interval === 'month' ? at.getUTCMonth() : 0);
  }
  // Weeks begin on Mondays; the epoch was a Thursday.
  const offset = interval === 'week' ? 3 * DAY_MS : 0;
  return Math.floor((moment + offset) / LENGTHS[interval]) * LENGTHS[interval] - offset;
}

function nextOf(interval, start) {
  const at = new Date(start);
  return interval === 'month' || interval === 'year'
    ? date(at.getUTCFullYear() + (interval === 'year' ? 1 : 0), interval === 'month' ? at.getUTCMonth() + 1 : 0)
    : start + LENGTHS[interval];
}

const isoOf = (moment) => new Date(moment).toISOString().replace('.000Z', 'Z');

/** The time that is looked at; an open end is undefined. */
function rangeOf({start, end, last}) {
  return last === undefined
    ? {from: start && momentOf(start), to: end && momentOf(end)}
    : {from: Date.parse(startOf(last)), to: Date.now()};
}

/** All intervals of the range, with those that have no record. */
function allIntervals(interval, counted) {
  const known = [...counted.keys()].sort((a, b) => a - b);
  const range = rangeOf(view.filters);
  let first = startIn(interval, Math.min(range.from ?? Infinity, known[0] ?? Infinity, range.to === undefined ? Infinity : range.to - 1));
  let last = Math.max(range.to === undefined ? first : startIn(interval, range.to - 1), known.at(-1) ?? first);
  if (!Number.isFinite(first)) {
    return [];
  }
  if ((last - first) / LENGTHS[interval] > MOST_YEARS) {
    first = Math.max(first, known[0] ?? last);
    last = known.at(-1) ?? last;
  }
  const starts = [];
  for (let at = first; at <= last; at = nextOf(interval, at)) {
    starts.push(at);
  }
  while (range.from === undefined && starts.length < FEWEST && starts[0] > FIRST) {
    starts.unshift(startIn(interval, starts[0] - 1));
  }
  return starts.slice(-MOST_YEARS).map((start) => counted.get(start) ?? {start, total: 0, success: 0, other: 0, failure: 0});
}

// ---- Counting ------------------------------------------------------------------------------------------------------

/**
 * Counts and draws the records that match.
 *
 * @param given filters: those of the page; asked: the filters for the service; newest: the newest record, or undefined; select: applies
 * the filters of a click; signal
 */
export async function loadChart(given) {
  if (given.signal.aborted) {
    return;
  }
  view = given;
  const own = () => view === given && !given.signal.aborted;
  try {
    const counted = await countDays(given) ?? await countRecords(given);
    if (own()) {
      draw(counted);
    }
  } catch (problem) {
    if (own() && problem.name !== 'AbortError') {
      forgetChart();
      byId('histogram-error').hidden = false;
      byId('histogram-error').textContent = `The records cannot be counted: ${problem.message}`;
    }
  }
}

function add(counted, start, outcome, number) {
  const bar = counted.get(start) ?? {start, total: 0, success: 0, other: 0, failure: 0};
  bar.total += number;
  bar[outcomeKind(outcome ?? undefined)] += number;
  counted.set(start, bar);
}

async function countRecords(given) {
  const {complete, total, interval, intervals} = await counts(given);
  const counted = new Map();
  for (const {start, count: all, outcomes} of intervals) {
    const moment = Date.parse(start);
    outcomes.forEach(({value, count: some}) => add(counted, moment, value, some));
    add(counted, moment, null, all - outcomes.reduce((sum, {count: some}) => sum + some, 0));
  }
  return {interval, counted, total, complete};
}

const isDay = (moment) => moment === undefined || moment % DAY_MS === 0;

/** Counts from the statistics, which are exact for feeds of any length. Null if they do not fit, or the records are few. */
async function countDays({filters, newest, signal}, tries = LAG_TRIES) {
  const {from, to} = rangeOf(filters);
  const fits = !isLink && !(newest?.sequence_id <= FEW) && isDay(from) && isDay(to) && !(to - from < DAYS * DAY_MS)
    && Object.keys(filters).every((name) => STATISTICS.includes(name));
  if (!fits) {
    return null;
  }
  const by = filters.action ? 'day,outcome,action' : 'day,outcome';
  const range = Object.entries({start: from, end: to}).filter(([, moment]) => moment !== undefined);
  const parameters = {by, ...Object.fromEntries(range.map(([name, moment]) => [name, isoOf(moment).slice(0, 10)]))};
  try {
    const {through, results, others} = await askJson(`${FEED}/statistics?${new URLSearchParams(parameters)}`, {signal});
    if (newest && through < newest.sequence_id && tries > 0) {
      await new Promise((resolve) => setTimeout(resolve, LAG_MS));
      return countDays({filters, newest, signal}, tries - 1);
    }
    const chosen = ['action', 'outcome'].filter((name) => filters[name]);
    return ofDays(results.filter((result) => chosen.every((name) => result[name] === filters[name])), {from, to}, chosen.length === 0 || others === 0);
  } catch (problem) {
    if (problem.name === 'AbortError') {
      throw problem;
    }
    return null;
  }
}

/** The shortest intervals that are few enough. Null if all records are of few days, which the facets divide. */
function ofDays(results, {from, to}, complete) {
  const days = results.map(({day}) => Date.parse(day));
  const range = (to ?? Math.max(...days) + DAY_MS) - (from ?? Math.min(...days));
  if (!(range >= DAYS * DAY_MS)) {
    return null;
  }
  const interval = ['day', 'week', 'month'].find((one) => range / LENGTHS[one] <= MOST) ?? 'year';
  const counted = new Map();
  results.forEach(({outcome, count: number}, i) => add(counted, startIn(interval, days[i]), outcome, number));
  return {interval, counted, total: results.reduce((sum, {count: number}) => sum + number, 0), complete};
}

// ---- Drawing -------------------------------------------------------------------------------------------------------

function draw({interval, counted, total, complete}) {
  const bars = allIntervals(interval, counted);
  const highest = bars.reduce((most, bar) => Math.max(most, bar.total), 1);
  const svg = byId('bars');
  const focused = [...svg.children].indexOf(document.activeElement);
  svg.setAttribute('viewBox', `0 0 ${Math.max(1, bars.length) * 10} 100`);
  svg.replaceChildren(...bars.map((bar, i) => drawBar(bar, interval, i * 10, highest)));
  const tabStop = svg.children[focused] ?? svg.querySelector('[aria-pressed=true]') ?? svg.lastElementChild;
  tabStop?.setAttribute('tabindex', 0);
  if (focused >= 0) {
    (svg.children[focused] ?? tabStop ?? byId('values')).focus();
  }
  const {filters} = view;
  const match = Object.keys(filters).length === 0 ? '' : total === 1 ? ' matches' : ' match';
  const text = byId('histogram-text');
  text.dataset.text = `${complete ? '' : 'At least '}${records(total)}${match}`;
  text.textContent = text.dataset.text;
  byId('histogram-title').firstChild.data = `Records by ${interval} `;
  byId('histogram-scale').textContent = bars.length === 0 ? '' : `${count.format(highest)} per ${interval}`;
  drawAxis(bars, interval);
  const {from, to} = rangeOf(filters);
  ['earlier', 'later'].forEach((id) => (byId(id).hidden = !(to > from)));
  byId('histogram').hidden = false;
  byId('histogram').setAttribute('aria-busy', 'false');
  byId('histogram-error').hidden = true;
}

function drawAxis(bars, interval) {
  const isThisYear = bars.length > 0 && new Date(bars[0].start).getUTCFullYear() === new Date().getUTCFullYear();
  const format = named(isThisYear ? AXIS[interval] : {...AXIS[interval], year: 'numeric'});
  const places = bars.length < 4 ? [...bars.keys()] : [0, 1 / 3, 2 / 3, 1].map((part) => Math.round(part * (bars.length - 1)));
  byId('histogram-axis').replaceChildren(...places.map((place) => make('span', {}, format.format(bars[place].start))));
}

function drawBar(bar, interval, x, highest) {
  const {filters} = view;
  const from = isoOf(bar.start);
  const to = isoOf(Math.min(LAST, nextOf(interval, bar.start)));
  const selected = filters.start === from && filters.end === to;
  const failures = bar.failure ? `, ${count.format(bar.failure)} failed` : '';
  const label = `${NAMES[interval].format(bar.start)}: ${records(bar.total)}${failures}`;
  const group = make(
    'g', {class: 'interval', role: 'button', tabindex: -1, 'aria-pressed': selected, 'aria-label': label},
    make('rect', {class: 'hit', x, y: 0, width: 10, height: 100}));
  let y = 100;
  for (const kind of KINDS.filter((name) => bar[name] > 0)) {
    const height = Math.max(1.5, (bar[kind] / highest) * 96);
    y -= height;
    group.append(make('rect', {class: kind, x: x + 1.2, y, width: 7.6, height}));
  }
  const text = byId('histogram-text');
  const tell = () => view !== null && (text.textContent = `${text.dataset.text} · ${label}`);
  const hush = () => (text.textContent = text.dataset.text);
  for (const [type, handler] of Object.entries({pointerenter: tell, focus: tell, pointerleave: hush, blur: hush})) {
    group.addEventListener(type, handler);
  }
  group.addEventListener('click', () => {
    const {start, end, last, ...others} = filters;
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
export function awaitChart() {
  view = null;
  byId('histogram').setAttribute('aria-busy', 'true');
  byId('histogram-text').textContent = byId('histogram-text').dataset.text = 'Counting …';
  byId('histogram-error').hidden = true;
}

/** Removes the bars. */
export function forgetChart() {
  view = null;
  byId('histogram').hidden = true;
  byId('histogram').setAttribute('aria-busy', 'false');
  byId('histogram-error').hidden = true;
  ['bars', 'histogram-text', 'histogram-scale', 'histogram-axis'].forEach((id) => byId(id).replaceChildren());
}

/** Looks at the time before or after. Whole months stay whole. */
function shift(direction) {
  if (view === null) {
    return;
  }
  const {start, end, last, ...others} = view.filters;
  const {from, to} = rangeOf(view.filters);
  const months = (moment) => 12 * new Date(moment).getUTCFullYear() + new Date(moment).getUTCMonth();
  const isWhole = [from, to].every((moment) => moment === startIn('month', moment));
  const by = direction * (isWhole ? months(to) - months(from) : to - from);
  const moves = [from, to].map((moment) => (isWhole ? date(0, months(moment) + by) : moment + by));
  if (moves[0] >= FIRST && moves[1] <= LAST) {
    view.select({...others, start: isoOf(moves[0]), end: isoOf(moves[1])});
  }
}

byId('bars').addEventListener('keydown', moved);
byId('earlier').addEventListener('click', () => shift(-1));
byId('later').addEventListener('click', () => shift(1));
