// The filters: the form, the range of time, a chip for each one that is on, and the place of a mistake in the query.

import {LABELS, FILTERS, go} from './address.js';
import {remember} from './complete.js';
import {offerValues} from './facets.js';
import {rangeOf} from './feed.js';
import {nameOf} from './recorders.js';
import {value} from './rows.js';
import {state, watch} from './store.js';
import {button, byId, icon, line, make} from './text.js';
import {PRESETS, fieldTime, isLocal, lastText, timeOfField, timeText, zoneName} from './times.js';

const FIELDS = FILTERS.filter((name) => name !== 'last');

export const form = byId('filters');
/** The text that each field shows, which may be less than its filter: a field has one line. */
const shownIn = {};

const isTime = (name) => name === 'start' || name === 'end';

/** A filter's value for people. */
export const filterText = (name, text) =>
  (isTime(name) ? timeText(text) : name === 'last' ? lastText(text) : name === 'recorded_by' ? nameOf(text) : text);

watch(['filters', 'zone'], draw);

function draw() {
  const {filters} = state;
  const chips = byId('chips');
  const focused = [...chips.children].indexOf(document.activeElement);
  for (const name of FIELDS) {
    const filter = filters[name] ?? '';
    form.elements[name].value = isTime(name) ? fieldTime(filter) : filter;
    shownIn[name] = form.elements[name].value;
    form.elements[name].classList.toggle('active', filter !== '');
  }
  drawRange();
  const names = Object.keys(filters);
  chips.hidden = names.length === 0;
  chips.replaceChildren(
    ...names.map((name) => chip(name, filters[name])),
    ...(names.length > 1 ? [button({class: 'quiet'}, () => go({}), 'Clear all')] : []));
  if (focused >= 0) {
    (chips.children[Math.min(focused, names.length - 1)] ?? form.elements.q).focus();
  }
}

/** The range of time, on the button that changes it, and the zone in which times are shown. */
function drawRange() {
  const {start, end, last} = state.filters;
  const span = [start && `from ${timeText(start)}`, end && `until ${timeText(end)}`].filter(Boolean).join(' ');
  byId('range-text').textContent = last ? lastText(last) : span ? span[0].toUpperCase() + line(span.slice(1)) : 'All times';
  byId('presets').replaceChildren(...Object.entries({...PRESETS, all: 'All times'}).map(([name, text]) =>
    button({'aria-pressed': name === (last ?? (start || end ? '' : 'all'))}, () => choosePreset(name), text)));
  document.querySelectorAll('.zone-name').forEach((element) => (element.textContent = zoneName()));
  byId('zone').setAttribute('aria-pressed', isLocal);
}

function choosePreset(name) {
  const {start, end, last, ...others} = state.filters;
  byId('range-panel').hidePopover();
  go(name === 'all' ? others : {...others, last: name});
}

/** A filter that is on; a click removes it. */
function chip(name, filter) {
  const {[name]: _, ...others} = state.filters;
  const text = filterText(name, filter);
  return button({'aria-label': `Remove the filter ${LABELS[name]} ${line(text)}`}, () => go(others),
    make('span', {class: 'dim'}, LABELS[name]), value(text), icon('m5.5 5.5 9 9m0-9-9 9'));
}

export function applyFilters(submit) {
  submit.preventDefault();
  const {filters} = state;
  const given = FIELDS.map((name) => {
    const text = form.elements[name].value;
    // An unchanged field keeps its filter, of which it may show only a part.
    return [name, text === shownIn[name] ? filters[name] : isTime(name) ? timeOfField(text) : text.trim()];
  });
  const wanted = Object.fromEntries(given.filter(([, text]) => text));
  byId('range-panel').hidePopover();
  remember(wanted.q);
  go(filters.last && !wanted.start && !wanted.end ? {...wanted, last: filters.last} : wanted);
}

export function toggleFilters() {
  const expanded = form.classList.toggle('expanded');
  byId('more-filters').setAttribute('aria-expanded', expanded);
  if (expanded) {
    offerValues();
  }
}

// ---- Problems ------------------------------------------------------------------------------------------------------

watch(['problem'], ({problem}) => {
  const {q} = form.elements;
  byId('problem').hidden = problem === null;
  q.removeAttribute('aria-invalid');
  q.removeAttribute('aria-describedby');
  if (problem !== null) {
    drawProblem(problem);
  }
});

function drawProblem({status, position, message}) {
  // The service counts characters from the beginning of the range that the page added to the query.
  const place = position && Math.max(1, position - rangeOf(state.filters).length);
  byId('problem-text').textContent = status === 401
    ? 'This link has ended. Open it again from where you found it.'
    : message.replace(`character ${position}:`, `character ${place}:`);
  if (position) {
    pointAt(place);
  }
}

/** Selects the character of the query that the service cannot read. */
function pointAt(position) {
  const {q} = form.elements;
  const characters = [...q.value];
  const start = characters.slice(0, position - 1).join('').length;
  q.setAttribute('aria-invalid', 'true');
  q.setAttribute('aria-describedby', 'problem-text');
  q.focus();
  q.setSelectionRange(start, start + (characters[position - 1] ?? '').length);
}
