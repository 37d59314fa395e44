// The rows: all records that are loaded, newest first, of which only those in sight are in the page. Rows are of one height, so
// what stands above and below them is as high as the rows that are not there.

import {columns, fit, isMetadata, metadataAt, title} from './columns.js';
import {placesOf} from './query.js';
import {byId, line, make, outcomeKind, partyText} from './text.js';
import {partsOf, relativeText, timeText} from './times.js';

export const MAX_ROWS = 50_000;
/** How much JSON the records have together that the page holds. */
export const MAX_CHARACTERS = 64 << 20;
export const MAX_PRINTED = 2_000;

/** How many rows there are beyond the edges of the window. */
const MARGIN = 12;
/** How near to an edge of the window the rows may end before others are drawn. */
const SLACK = 4;

const body = byId('rows');
const table = body.parentElement;
const above = byId('above');
const aboveRow = above.firstElementChild;
const belowRow = byId('below').firstElementChild;

/** Newest first. */
let list = [];
const known = new Map();
/** How long the JSON of each record is, by its id, and of all together. */
const lengths = new Map();
let characters = 0;
/** Whether there was no room for a record. */
let isFull = false;
/** The rows in the page, by the ids of their records. */
const drawn = new Map();
/** What is known of the proofs of records, by their ids. */
const marks = new Map();
const fresh = new Set();
let height = 33;
let from = 0;
let to = 0;
/** Whether the last row is that of the first record that there is. */
let isComplete = false;

/** What the page says of rows: where a row leads, which record is open or was come for, and which words are searched for. */
let page = {link: () => '', open: () => null, target: () => null, words: () => [], settled: () => {}};

export function begin(given) {
  page = given;
}

export const size = () => list.length;
export const room = () => (isFull ? 0 : MAX_ROWS - list.length);
/** How much JSON the records are that are loaded, in MiB. */
export const mebibytes = () => characters / (1 << 20);
export const newest = () => list[0];
export const oldest = () => list.at(-1);
export const recordAt = (index) => list[index];
export const recordOf = (id) => known.get(id);
export const rowOf = (id) => drawn.get(id);

/** Where a record stands; -1 if it is not loaded. */
export function indexOf(id) {
  const record = known.get(id);
  let [low, high] = [0, record === undefined ? -1 : list.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const difference = list[middle].sequence_id - record.sequence_id;
    if (difference === 0) {
      return middle;
    }
    [low, high] = difference > 0 ? [middle + 1, high] : [low, middle - 1];
  }
  return -1;
}

/** Where a sequence id stands, or the next older one that is loaded; -1 if there is neither. */
export const nearest = (sequenceId) => list.findIndex((record) => record.sequence_id <= sequenceId);

const lengthOf = (record) => JSON.stringify(record).length;

function unknown(found) {
  const added = found.filter((record) => !known.has(record.id) && known.set(record.id, record));
  for (const record of added) {
    lengths.set(record.id, lengthOf(record));
    characters += lengths.get(record.id);
  }
  return added;
}

export function clear() {
  list = [];
  [known, lengths, drawn, marks, fresh].forEach((kept) => kept.clear());
  characters = 0;
  isFull = false;
  body.replaceChildren();
  isComplete = false;
  draw();
}

/** Drops the last rows if there are too many, or if they are too much. @returns whether they were */
function trim() {
  const before = list.length;
  while (list.length > MAX_ROWS || (characters > MAX_CHARACTERS && list.length > 1)) {
    const {id} = list.pop();
    characters -= lengths.get(id);
    [known, lengths, marks, fresh].forEach((kept) => kept.delete(id));
  }
  const lost = list.length < before;
  isFull ||= lost;
  isComplete &&= !lost;
  return lost;
}

/**
 * Adds older records, newest first, behind the last row.
 *
 * @param complete whether there are no older ones
 * @returns whether there was no room for the last of them
 */
export function addOlder(found, complete) {
  isComplete = complete;
  list.push(...unknown(found));
  const lost = trim();
  draw();
  return lost;
}

/**
 * Adds newer records, oldest first, before the first row. What is in sight stays where it is, unless that is the beginning of the page.
 *
 * @param follows whether they have just been appended, and the page follows
 * @returns whether there was no room for the last rows any longer
 */
export function addNewer(found, follows) {
  const added = unknown(found).reverse();
  list = added.concat(list);
  const lost = trim();
  if (follows) {
    added.forEach(({id}) => fresh.add(id));
    draw();
  } else {
    aboveRow.style.height = `${(from + added.length) * height}px`;
    scrollBy({top: added.length * height, behavior: 'instant'});
    draw();
  }
  return lost;
}

/** Shows what is left of a record in place of what its row shows. */
export function replace(record) {
  const index = indexOf(record.id);
  if (index >= 0) {
    list[index] = record;
    known.set(record.id, record);
    characters += lengthOf(record) - lengths.get(record.id);
    lengths.set(record.id, lengthOf(record));
    redraw(record.id);
  }
}

function redraw(id) {
  const old = drawn.get(id);
  if (old) {
    const focused = old.contains(document.activeElement);
    const replaced = row(known.get(id));
    replaced.setAttribute('aria-rowindex', old.getAttribute('aria-rowindex'));
    drawn.set(id, replaced);
    old.replaceWith(replaced);
    focused && replaced.querySelector('a').focus({preventScroll: true});
  }
}

/** Draws as many rows as are printed, from the first one on. */
export function drawForPrint() {
  place(0, Math.min(list.length, MAX_PRINTED));
}

/** Draws all rows in sight anew, since they look otherwise now. */
export function redrawAll() {
  [...drawn.keys()].forEach(redraw);
  draw();
}

// ---- What is in sight ----------------------------------------------------------------------------------------------

/** The first and one past the last row that the window has room for. */
function sight() {
  const top = above.getBoundingClientRect().top;
  const clamp = (index) => Math.min(list.length, Math.max(0, index));
  return [clamp(Math.floor(-top / height)), clamp(Math.ceil((innerHeight - top) / height))];
}

/** The records in sight, for whom each is to be proved. */
export const inSight = () => list.slice(...sight());

function draw() {
  const [first, last] = sight();
  place(Math.max(0, first - MARGIN), Math.min(list.length, last + MARGIN));
  measure();
  page.settled();
}

function place(start, end) {
  [from, to] = [start, end];
  const wanted = list.slice(start, end);
  const ids = new Set(wanted.map(({id}) => id));
  const focused = document.activeElement?.closest?.('#rows tr');
  for (const [id, element] of drawn) {
    if (!ids.has(id)) {
      // The row that has the focus stays, unseen: without it the keys would begin at the top of the page again.
      if (element === focused && known.has(id)) {
        element.classList.add('kept');
      } else {
        element.remove();
        drawn.delete(id);
      }
    }
  }
  let next = body.firstElementChild;
  wanted.forEach((record, i) => {
    const element = drawn.get(record.id) ?? drawRow(record);
    element.setAttribute('aria-rowindex', start + i + 2);
    while (next?.classList.contains('kept')) {
      next = next.nextElementSibling;
    }
    if (element === next) {
      next = next.nextElementSibling;
    } else {
      body.insertBefore(element, next);
    }
    if (element.classList.contains('kept')) {
      element.classList.remove('kept');
      element.querySelector('a').focus({preventScroll: true});
    }
  });
  aboveRow.style.height = `${start * height}px`;
  belowRow.style.height = `${(list.length - end) * height}px`;
  table.setAttribute('aria-rowcount', isComplete ? list.length + 1 : -1);
}

function drawRow(record) {
  const element = row(record);
  if (fresh.delete(record.id)) {
    element.classList.add('new');
  }
  drawn.set(record.id, element);
  return element;
}

/** Takes the height from the rows: it depends on the reader's fonts and on the width of the window. */
function measure() {
  const measured = [...drawn.values()].filter((element) => !element.classList.contains('kept'));
  if (measured.length === 0) {
    return;
  }
  const now = (measured.at(-1).getBoundingClientRect().bottom - measured[0].getBoundingClientRect().top) / measured.length;
  if (now > 0 && Math.abs(now - height) > 0.01) {
    const first = -above.getBoundingClientRect().top / height;
    height = now;
    aboveRow.style.height = `${from * height}px`;
    belowRow.style.height = `${(list.length - to) * height}px`;
    if (first > 0) {
      scrollBy({top: above.getBoundingClientRect().top + first * height, behavior: 'instant'});
    }
  }
}

function moved() {
  const [first, last] = sight();
  if ((first - SLACK < from && from > 0) || (last + SLACK > to && to < list.length)) {
    draw();
  } else {
    page.settled();
  }
}

/** Brings a row into sight, if it is not there, and returns it. */
export function reveal(index, block = 'nearest') {
  if (index < from || index >= to) {
    scrollBy({top: above.getBoundingClientRect().top + index * height - innerHeight / 2, behavior: 'instant'});
    draw();
  }
  const element = drawn.get(list[index].id);
  element.scrollIntoView({block, behavior: 'instant'});
  draw();
  return element;
}

addEventListener('scroll', moved, {passive: true});
addEventListener('resize', () => {
  fit();
  draw();
});

// ---- A row ---------------------------------------------------------------------------------------------------------

const cell = (kind, ...children) => make('td', {role: 'cell', class: kind}, ...children);
export const value = (text, kind = '') => make('bdi', {class: kind}, line(text));

/** A mark in place of a value that was redacted. */
const valueOrMark = (text, record, name) =>
  text || !Object.keys(record.redacted ?? {}).some((gone) => gone.startsWith(name)) ? value(text) : value('redacted', 'dim');

function timeCell(record) {
  const {date, time, zone} = partsOf(record.timestamp);
  const spoken = [record.action, partyText(record.actor), record.outcome ?? ''].filter(Boolean).join(', ');
  return cell('time', make(
    'a',
    {href: page.link(record), 'aria-label': `${date} ${time} ${zone} ${line(spoken)}`},
    make('time', {datetime: record.timestamp, title: `${relativeText(record.timestamp)} · ${timeText(record.timestamp)}`},
      make('span', {class: 'dim'}, `${date} `), time, make('span', {class: 'zone'}, ` ${zone}`))));
}

function subjectCell(record) {
  return record.subject?.type && partyText(record.subject) !== record.subject.type
    ? cell('subject', make('bdi', {class: 'dim'}, `${line(record.subject.type)} `), value(partyText(record.subject)))
    : cell('subject', valueOrMark(partyText(record.subject), record, 'subject.'));
}

function messageCell(record) {
  const message = valueOrMark(record.message ?? '', record, 'message');
  if (record.message) {
    message.replaceChildren(...highlighted(message.textContent));
  }
  return cell('message', message);
}

/** A text with the words marked that are searched for. */
export function highlighted(text) {
  const nodes = [];
  let end = 0;
  for (const [start, behind] of placesOf(text, page.words())) {
    nodes.push(text.slice(end, start), make('mark', {}, text.slice(start, behind)));
    end = behind;
  }
  return [...nodes, text.slice(end)];
}

const CELLS = {
  time: timeCell,
  action: (record) => cell('action', value(record.action), markOf(record)),
  actor: (record) => cell('actor', valueOrMark(partyText(record.actor), record, 'actor.')),
  subject: (record) => labelled('subject', subjectCell(record)),
  outcome: ({outcome}) => cell('outcome', ...(outcome ? [value(outcome, `badge ${outcomeKind(outcome)}`)] : [])),
  ip_address: (record) => extra('ip_address', valueOrMark(record.ip_address ?? '', record, 'ip_address')),
  recorded_by: (record) => extra('recorded_by', value(record.recorded_by ?? '')),
  recorded_at: ({recorded_at: time}) => {
    const {date, time: ofDay, zone} = partsOf(time);
    return extra('recorded_at', make('time', {datetime: time, title: timeText(time)},
      make('span', {class: 'dim'}, `${date} `), ofDay, make('span', {class: 'zone'}, ` ${zone}`)));
  },
  message: messageCell,
  number: (record) => labelled('number', cell('number', String(record.sequence_id))),
};

/** A cell that has no place of its own on a phone: where it is chosen, it stands there on a line, behind its name. */
function labelled(name, element) {
  element.classList.add('extra');
  element.dataset.label = line(title(name));
  return element;
}

const extra = (name, ...children) => labelled(name, cell(isMetadata(name) ? 'metadata' : name, ...children));

function row(record) {
  const element = make('tr', {role: 'row', 'data-id': record.id}, ...columns.map((name) =>
    CELLS[name]?.(record) ?? extra(name, valueOrMark(metadataAt(record, name), record, 'metadata'))));
  if (record.id === page.open()) {
    element.setAttribute('aria-current', 'true');
  }
  if (record.sequence_id === page.target()) {
    element.classList.add('target');
  }
  return element;
}

// ---- Marks ---------------------------------------------------------------------------------------------------------

function markOf({id}) {
  const {state, text} = marks.get(id) ?? {};
  return make('span', {class: 'mark', ...(state && {'data-state': state, title: text, role: 'img', 'aria-label': text})});
}

/** Marks the row of a record, if it shows that record. */
export function mark(record, state, text) {
  const shown = known.get(record.id);
  if (shown && JSON.stringify(shown) === JSON.stringify(record)) {
    marks.set(record.id, {state, text});
    drawn.get(record.id)?.querySelector('.mark').replaceWith(markOf(record));
  }
}

export function clearMarks() {
  marks.clear();
  drawn.forEach((element) => element.querySelector('.mark').replaceWith(markOf({id: null})));
}

/** The row of the record that is open now, and of no other. */
export function showCurrent() {
  drawn.forEach((element, id) =>
    id === page.open() ? element.setAttribute('aria-current', 'true') : element.removeAttribute('aria-current'));
}
