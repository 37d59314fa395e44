// The rows: of all loaded records only those in sight are in the page. All rows have one height, so two empty rows take the place of
// those above and below.

import {address} from './address.js';
import {columns, fit, isMetadata, metadataAt, title} from './columns.js';
import {placesOf} from './query.js';
import {recorderName} from './recorders.js';
import {entryOf, isComplete, nearest, recordAt, recordOf, recordsBetween, size, state, watch} from './store.js';
import {byId, line, make, outcomeKind, partyText} from './text.js';
import {isAhead, partsOf, relativeText, timeText} from './times.js';

export const MAX_PRINTED = 2_000;

/** Rows drawn beyond the edges of the window. */
const MARGIN = 12;
/** Others are drawn if the drawn rows end nearer to an edge of the window, in rows. */
const SLACK = 4;

const body = byId('rows');
const table = body.parentElement;
const above = byId('above');
const aboveRow = above.firstElementChild;
const belowRow = byId('below').firstElementChild;

/** The rows in the page, by the ids of their records. */
const drawn = new Map();
let height = 33;
let from = 0;
let to = 0;

let settled = () => {};

/** @param listener is called after rows were drawn or scrolled */
export function begin(listener) {
  settled = listener;
}

watch(['loaded'], ({loaded}) => {
  if (loaded.above > 0) {
    // The rows in sight stay where they are.
    aboveRow.style.height = `${(from + loaded.above) * height}px`;
    scrollBy({top: loaded.above * height, behavior: 'instant'});
  }
  draw();
});
watch(['around'], ({around}) => {
  const index = nearest(around);
  if (index >= 0) {
    reveal(index, 'center');
  }
});
watch(['replaced'], ({replaced}) => redraw(replaced));
watch(['columns', 'zone', 'byTime'], redrawAll);
watch(['openId'], showCurrent);
watch(['marked'], ({marked}) => (marked === null ? [...drawn.keys()] : [marked]).forEach(redrawMark));

function redraw(id) {
  const old = drawn.get(id);
  if (old) {
    const focused = old.contains(document.activeElement);
    const replaced = row(recordOf(id));
    replaced.setAttribute('aria-rowindex', old.getAttribute('aria-rowindex'));
    drawn.set(id, replaced);
    old.replaceWith(replaced);
    focused && replaced.querySelector('a').focus({preventScroll: true});
  }
}

/** Draws as many rows as are printed, from the first one on. */
export function drawForPrint() {
  place(0, Math.min(size(), MAX_PRINTED));
}

export function redrawAll() {
  [...drawn.keys()].forEach(redraw);
  draw();
}

// ---- Rows in sight -------------------------------------------------------------------------------------------------

/** The first and one past the last row that the window has room for. */
function sight() {
  const top = above.getBoundingClientRect().top;
  const clamp = (index) => Math.min(size(), Math.max(0, index));
  return [clamp(Math.floor(-top / height)), clamp(Math.ceil((innerHeight - top) / height))];
}

export const inSight = () => recordsBetween(...sight());

function draw() {
  const [first, last] = sight();
  place(Math.max(0, first - MARGIN), Math.min(size(), last + MARGIN));
  measure();
  settled();
}

function place(start, end) {
  [from, to] = [start, end];
  const wanted = recordsBetween(start, end);
  const ids = new Set(wanted.map(({id}) => id));
  const focused = document.activeElement?.closest?.('#rows tr');
  for (const [id, element] of drawn) {
    if (!ids.has(id)) {
      // A removed row would lose the focus, and the keys would begin at the top of the page again. It stays, unseen.
      if (element === focused && recordOf(id)) {
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
  belowRow.style.height = `${(size() - end) * height}px`;
  table.setAttribute('aria-rowcount', isComplete ? size() + 1 : -1);
}

function drawRow(record) {
  const element = row(record);
  const entry = entryOf(record.id);
  if (entry.isNew) {
    entry.isNew = false;
    element.classList.add('new');
  }
  drawn.set(record.id, element);
  return element;
}

/** Measures the height of a row, which depends on the reader's fonts and on the width of the window. */
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
    belowRow.style.height = `${(size() - to) * height}px`;
    if (first > 0) {
      scrollBy({top: above.getBoundingClientRect().top + first * height, behavior: 'instant'});
    }
  }
}

function moved() {
  const [first, last] = sight();
  if ((first - SLACK < from && from > 0) || (last + SLACK > to && to < size())) {
    draw();
  } else {
    settled();
  }
}

/** Brings a row into sight, if it is not there, and returns it. */
export function reveal(index, block = 'nearest') {
  if (index < from || index >= to) {
    scrollBy({top: above.getBoundingClientRect().top + index * height - innerHeight / 2, behavior: 'instant'});
    draw();
  }
  const element = drawn.get(recordAt(index).id);
  element.scrollIntoView({block, behavior: 'instant'});
  draw();
  return element;
}

addEventListener('scroll', moved, {passive: true});
addEventListener('resize', draw);
// An open record makes the table narrower, too.
new ResizeObserver(fit).observe(byId('loaded').parentElement);

// ---- A row ---------------------------------------------------------------------------------------------------------

const cell = (kind, ...children) => make('td', {role: 'cell', class: kind}, ...children);
export const value = (text, kind = '') => make('bdi', {class: kind}, line(text));

/** A value, or a mark in place of a value that was redacted. */
const valueOrMark = (text, record, name) =>
  text || !Object.keys(record.redacted ?? {}).some((gone) => gone.startsWith(name)) ? value(text) : value('redacted', 'dim');

function timeCell(record) {
  const {date, time, zone} = partsOf(record.timestamp);
  const ahead = isAhead(record);
  const spoken = [record.action, partyText(record.actor), record.outcome ?? '', ahead && 'in the future'].filter(Boolean).join(', ');
  return cell('time', make(
    'a',
    {href: address(state.filters, record.id, state.target), 'aria-label': `${date} ${time} ${zone} ${line(spoken)}`},
    make('time', {datetime: record.timestamp, title: `${relativeText(record.timestamp)} · ${timeText(record.timestamp)}`},
      make('span', {class: 'dim'}, `${date} `), time, make('span', {class: 'zone'}, ` ${zone}`)),
    ...(ahead ? [make('span', {class: 'ahead', title: `In the future: ${relativeText(record.timestamp)}`}, '»')] : [])));
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

/** A text in which the searched words are marked. */
export function highlighted(text) {
  const nodes = [];
  let end = 0;
  for (const [start, behind] of placesOf(text, state.words)) {
    nodes.push(text.slice(end, start), make('mark', {}, text.slice(start, behind)));
    end = behind;
  }
  return [...nodes, text.slice(end)];
}

const CELLS = {
  time: timeCell,
  action: (record) => cell('action', value(record.action), ...(record.misfit
    ? [' ', make('span', {class: 'badge other', title: line(`${record.misfit.pointer} ${record.misfit.detail}`)}, 'misfit')] : []), markOf(record)),
  actor: (record) => cell('actor', valueOrMark(partyText(record.actor), record, 'actor.')),
  subject: subjectCell,
  outcome: ({outcome}) => cell('outcome', ...(outcome ? [value(outcome, `badge ${outcomeKind(outcome)}`)] : [])),
  ip_address: (record) => extra('ip_address', valueOrMark(record.ip_address ?? '', record, 'ip_address')),
  recorded_by: ({recorded_by: recorder}) => extra('recorded_by', ...(recorder ? [recorderName(recorder)] : [])),
  recorded_at: ({recorded_at: time}) => {
    const {date, time: ofDay, zone} = partsOf(time);
    return extra('recorded_at', make('time', {datetime: time, title: timeText(time)},
      make('span', {class: 'dim'}, `${date} `), ofDay, make('span', {class: 'zone'}, ` ${zone}`)));
  },
  message: messageCell,
  number: (record) => labelled('number', cell('number', String(record.sequence_id))),
};

/** A cell that a phone shows, if its column is chosen, on a line of its own after the column's name. */
function labelled(name, element) {
  element.classList.add('extra');
  element.dataset.label = line(title(name));
  return element;
}

const extra = (name, ...children) => labelled(name, cell(isMetadata(name) ? 'metadata' : name, ...children));

function row(record) {
  const element = make('tr', {role: 'row', 'data-id': record.id}, ...columns.map((name) =>
    CELLS[name]?.(record) ?? extra(name, valueOrMark(metadataAt(record, name), record, 'metadata'))));
  if (record.id === state.openId) {
    element.setAttribute('aria-current', 'true');
  }
  if (record.sequence_id === state.target) {
    element.classList.add('target');
  }
  return element;
}

// ---- Marks ---------------------------------------------------------------------------------------------------------

function markOf({id}) {
  const {state: proof, text} = entryOf(id)?.mark ?? {};
  return make('span', {class: 'mark', ...(proof && {'data-state': proof, title: text, role: 'img', 'aria-label': text})});
}

function redrawMark(id) {
  drawn.get(id)?.querySelector('.mark').replaceWith(markOf({id}));
}

/** Marks the row of the open record as the current one. */
function showCurrent() {
  drawn.forEach((element, id) =>
    id === state.openId ? element.setAttribute('aria-current', 'true') : element.removeAttribute('aria-current'));
}
