// The state of the rows for the reader: how much is loaded, what is missing at either end, and whether the page follows the feed.

import {LABELS, go} from './address.js';
import {project} from './api.js';
import {filterText} from './filters.js';
import * as projects from './projects.js';
import {words} from './query.js';
import * as rows from './rows.js';
import {MAX_ROWS, mebibytes, newest, oldest, recordAt, room, size, state, watch} from './store.js';
import {byId, count, line, make, passFocus, records} from './text.js';
import {lastText, timeText} from './times.js';

const LIVE = {past: 'Not live', live: 'Live', connecting: 'Connecting', waiting: 'Reconnecting', off: 'Not live'};

watch(['ends', 'reading', 'loaded'], drawEnds);
watch(['byTime'], ({byTime}) => byId('order').setAttribute('aria-pressed', byTime));
watch(['ends', 'missed', 'detached'], drawMissed);
watch(['live', 'paused'], drawLive);
watch(['view'], ({view}) => {
  byId('view-title').hidden = view === null;
  byId('view-title').textContent = view === null ? '' : line(view);
});

function drawEnds() {
  const focused = document.activeElement;
  const {ends, reading} = state;
  const full = room() === 0 && ends.older !== null;
  byId('older').hidden = reading !== null || ends.older === null || full;
  byId('stop').hidden = reading?.end !== 'older';
  byId('go-on').hidden = !full;
  byId('progress').textContent = reading?.end === 'older' ? progressOf(reading) : textAtEnd(full);
  const wider = reading === null && ends.older === null && size() === 0 && Object.keys(state.filters).length > 0 ? widest() : null;
  byId('widen').hidden = wider === null;
  byId('widen').textContent = wider?.[0] ?? '';
  byId('widen').onclick = () => go(wider[1]);
  byId('start').hidden = ends.newer === null;
  byId('newer').hidden = reading !== null;
  byId('stop-newer').hidden = reading?.end !== 'newer';
  byId('newer-progress').textContent = reading?.end === 'newer' ? progressOf(reading) : '';
  byId('rows').parentElement.setAttribute('aria-busy', reading !== null);
  byId('loaded').textContent = loadedText();
  passFocus(focused, ...['stop', 'stop-newer', 'older', 'newer', 'go-on', 'progress'].map(byId));
}

const number = (sequenceId) => `#${count.format(sequenceId)}`;

/** The page tells of an index that is so many records behind. */
const INDEX_LAG = 10_000;

function progressOf({end, pages, found}) {
  if (pages === 0) {
    return 'Loading …';
  }
  const {searched} = state;
  const lag = searched !== null && searched.indexed_through + INDEX_LAG < searched.through
    ? `. The index has come to ${number(searched.indexed_through)}: later records are read one by one` : '';
  return `Searching ${end} records: ${count.format(pages)} pages read, ${count.format(found)} found${
    searched === null ? '' : `, ${end === 'older' ? `back to ${number(searched.from + 1)}` : `up to ${number(searched.through)}`}`}${lag}`;
}

/** Says what a search without a match has read. */
function nothingFound() {
  const {start, end, last} = state.filters;
  const {searched} = state;
  const upTo = searched === null ? '' : ` up to ${number(searched.through)}`;
  const span = [start && `from ${timeText(start)}`, end && `until ${timeText(end)}`].filter(Boolean).join(' ');
  const of = last ? `the records of the ${lastText(last).toLowerCase()}` : span ? `the records ${line(span)}` : 'all records';
  // The service finds a part of a word anywhere, but not in ids.
  const within = /\*[^\s*"]+\*/.test(state.filters.q ?? '') ? ' An id is found as a whole or by its beginning alone.' : '';
  return `No records match these filters. Every field of ${of}${upTo} was searched.${within}`;
}

/** The widest next step of a search without a match: its text and its filters. Null if nothing is left to leave out. */
function widest() {
  const {start, end, last, ...others} = state.filters;
  const {q = ''} = others;
  if (start || end || last) {
    return ['Search all times', others];
  }
  const text = words(q);
  if (Object.keys(others).length > (q ? 1 : 0)) {
    return q ? ['Search without the other filters', {q}] : null;
  }
  return text && text !== q ? [`Search for ${line(text)} in every field`, {q: text}] : null;
}

/** The text after the last row while nothing is read there. */
function textAtEnd(full) {
  if (full) {
    const amount = size() < MAX_ROWS ? `together ${count.format(Math.round(mebibytes() * 10) / 10)} MiB: as much` : 'as many';
    return `${records(size())} are loaded, ${amount} as this page holds. Older ones are not shown.`;
  }
  const {searched} = state;
  if (state.ends.older !== null) {
    return searched === null ? '' : `Searched so far: ${number(searched.from + 1)} to ${number(searched.through)}. Older records may match.`;
  }
  const filtered = Object.keys(state.filters).length > 0;
  if (size() === 0) {
    return filtered ? nothingFound() : 'No records yet: they appear here as they are appended.';
  }
  return filtered ? 'No further records match these filters.' : 'The beginning of the feed.';
}

const spanOf = (first, last) => `, #${count.format(last.sequence_id)} to #${count.format(first.sequence_id)}`;

/** The caption of the rows: the part of the feed that is loaded. */
function loadedText() {
  if (size() === 0) {
    return '';
  }
  const {ends} = state;
  const left = [ends.newer !== null && 'newer', ends.older !== null && room() > 0 && 'older'].filter(Boolean);
  return `${records(size())} loaded${spanOf(newest(), oldest())}${state.byTime ? ', sorted by event time' : ''}${
    left.length === 0 ? '' : `; ${left.join(' and ')} ones load as you scroll`}${
    ends.older !== null && room() === 0 ? '; older ones are left out' : ''}`;
}

/** The button that leads to newer records than those in the rows. */
function drawMissed() {
  const focused = document.activeElement;
  const {ends, missed, detached} = state;
  byId('newest').hidden = missed === 0 && !detached && ends.newer === null;
  byId('newest').textContent = missed > 0
    ? `${count.format(missed)} new ${missed === 1 ? 'record' : 'records'}`
    : ends.newer === null ? 'Newer records are left out: show them' : 'To the newest records';
  passFocus(focused, byId('records-title'));
}

function drawLive() {
  const {live, paused} = state;
  byId('live').dataset.state = paused ? 'paused' : live;
  byId('live').setAttribute('aria-pressed', !paused);
  byId('live').title = paused ? 'Show new records as they arrive' : 'Hold new records back';
  byId('live-text').textContent = paused ? 'Paused' : LIVE[live];
}

/** Draws the rows for paper, with a heading that says what is printed and what is not. */
export function drawForPrint() {
  rows.drawForPrint();
  const {ends, filters, view} = state;
  const printed = Math.min(size(), rows.MAX_PRINTED);
  const left = size() - printed;
  const missing = [
    left > 0 && `${count.format(left)} more that are loaded`, ends.newer !== null && 'newer ones',
    (state.detached || state.missed > 0) && 'those that have just arrived', ends.older !== null && 'older ones',
  ].filter(Boolean);
  const heading = [
    ...(view === null ? [] : [make('p', {}, make('b', {}, 'View: '), rows.value(view))]),
    ...Object.keys(filters).map((name) =>
      make('p', {}, make('b', {}, `${LABELS[name]}: `), rows.value(filterText(name, filters[name])))),
    make('p', {}, `${records(printed)}${
      size() === 0 ? '' : state.byTime ? ', sorted by event time' : spanOf(newest(), recordAt(printed - 1))}.${
      missing.length === 0 ? '' : ` Not on paper: ${missing.join(', ')}.`}`),
  ];
  const detail = byId('detail');
  // A dialog covers the page, and is printed from its own top.
  (detail.open ? detail : document.body).prepend(byId('paper'));
  byId('paper').replaceChildren(
    make('h1', {}, `Annals · ${line(projects.nameOf(project)) || 'Records'}`),
    ...(detail.open ? [] : heading),
    make('p', {class: 'dim'}, `Printed ${timeText(new Date().toISOString().replace(/\.\d+/, ''))}`));
}
