// The values of the records that pass the filters, with their counts. A click shows only these records, or all others.

import {FEED, askJson, ofBrowser} from './api.js';
import {term, withTerm} from './query.js';
import {button, byId, count, icon, line, make, records} from './text.js';

const SHOWN = 'annals.values';
const TOP = 8;
const SUGGESTED = 100;
const FIELDS = {
  action: ['Action', 'action'], actor: ['Actor', 'actor'], subject: ['Subject', 'subject'], outcome: ['Outcome', 'outcome'],
  ip_address: ['IP address', 'ip'], recorded_by: ['Recorded by', 'recorded_by'],
};

let view = null;
/** The range of time whose values the filters suggest. */
let offered = null;
let isShown = ofBrowser.get(SHOWN) === 'true';

/** The counts of a query, which the chart shows, too. */
export const counts = (given) => (given.counts ??= askFor({...given.asked, top: TOP}, given.signal));

const askFor = (parameters, signal) => askJson(`${FEED}/facets?${new URLSearchParams(parameters)}`, {signal});

/**
 * Counts the values, if the panel is open.
 *
 * @param filters those of the page
 * @param asked the filters for the service
 * @param select applies the filters of a click
 */
export async function loadFacets(given) {
  if (given.signal.aborted) {
    return;
  }
  view = given;
  show();
  if (byId('more-filters').getAttribute('aria-expanded') === 'true' && offered !== timesOf(view)) {
    suggest();
  }
  if (!isShown) {
    byId('facets').setAttribute('aria-busy', 'false');
    return;
  }
  byId('facets').setAttribute('aria-busy', 'true');
  try {
    const answer = await counts(given);
    if (!given.signal.aborted && view === given) {
      draw(answer);
    }
  } catch (problem) {
    if (!given.signal.aborted && view === given) {
      byId('facets-list').replaceChildren();
      byId('facets-text').textContent = `The values cannot be counted: ${problem.message}`;
    }
  }
  if (view === given) {
    byId('facets').setAttribute('aria-busy', 'false');
  }
}

/** Marks the values as outdated until this query is counted. */
export function awaitFacets() {
  view = null;
  byId('facets').setAttribute('aria-busy', 'true');
  byId('facets-text').textContent = 'Counting …';
}

/** Removes all values. */
export function forgetFacets(why) {
  view = null;
  byId('facets').setAttribute('aria-busy', 'false');
  byId('facets-list').replaceChildren();
  byId('facets-text').textContent = why;
}

/** Removes all values and suggestions of the project. */
export function endFacets() {
  offered = null;
  forgetFacets('');
  document.querySelectorAll('datalist').forEach((known) => known.replaceChildren());
}

function show() {
  byId('facets').hidden = !isShown;
  byId('values').setAttribute('aria-expanded', isShown);
}

const atLeast = (number, complete) => `${complete ? '' : 'at least '}${count.format(number)}`;

function draw({facets, total, complete, from, through}) {
  byId('facets-text').textContent = complete
    ? `${records(total)} up to #${count.format(through)}`
    : `At least ${records(total)}: those behind #${count.format(from)}, up to #${count.format(through)}, are counted`;
  const focused = document.activeElement;
  const list = byId('facets-list');
  const {key} = focused.dataset;
  const section = focused.closest('#facets-list section')?.getAttribute('aria-labelledby');
  list.replaceChildren(...facets.filter(({values, field}) => values.length > 0 && field in FIELDS)
    .map((facet) => drawFacet(facet, complete)));
  if (section !== undefined) {
    const buttons = [...list.querySelectorAll('button')];
    const near = buttons.find((one) => one.closest('section').getAttribute('aria-labelledby') === section);
    (buttons.find((one) => one.dataset.key === key) ?? near ?? byId('values')).focus();
  }
}

function drawFacet({field, values, distinct, missing}, complete) {
  const [label] = FIELDS[field];
  const notes = [
    distinct > values.length && `${atLeast(distinct, complete)} different`, missing > 0 && `${atLeast(missing, complete)} without`,
  ].filter(Boolean).join(', ');
  const id = `facet-${field}`;
  return make('section', {'aria-labelledby': id},
    make('h3', {id}, label),
    make('ul', {}, ...values.map((value) => drawValue(field, value, values[0].count, complete))),
    ...(notes ? [make('p', {class: 'note'}, notes)] : []));
}

function drawValue(field, {value, name, count: number}, highest, complete) {
  const {filters} = view;
  const select = (wanted) => view?.filters === filters && view.select(wanted);
  const [label, queried] = FIELDS[field];
  const isOn = filters[field] === value;
  const {[field]: _, ...others} = filters;
  const share = make('svg', {class: 'share', viewBox: '0 0 100 1', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    make('rect', {x: 0, y: 0, height: 1, width: (number / highest) * 100}));
  const text = line(name ?? value);
  return make('li', {},
    share,
    button({
      class: 'value-only', 'data-key': `only ${field} ${value}`, 'aria-pressed': isOn, title: line(name === undefined ? value : `${name} · ${value}`),
      'aria-label': `${isOn ? 'Any' : 'Only this'} ${label}: ${text}, ${atLeast(number, complete)}`,
    }, () => select(isOn ? others : {...filters, [field]: value}),
      make('bdi', {}, text), make('span', {class: 'count'}, `${complete ? '' : '≥ '}${count.format(number)}`)),
    button({class: 'only', 'data-key': `exclude ${field} ${value}`, 'aria-label': `Exclude this ${label}: ${text}`, title: 'Exclude'},
      () => select({...others, q: withTerm(filters.q, `-${term(queried, value)}`)}),
      icon('M10 3.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13zM5.5 14.5l9-9')));
}

function timesOf({filters: {start, end, last}}) {
  const q = last === undefined ? undefined : `last:${last}`;
  return new URLSearchParams(Object.entries({start, end, q}).filter(([, time]) => time !== undefined)).toString();
}

/** Suggests values while the reader types into a filter. Before the first page is loaded, {@link loadFacets} does this later. */
export async function suggest() {
  if (view === null) {
    return;
  }
  const {signal} = view;
  const times = timesOf(view);
  const parameters = new URLSearchParams(times);
  parameters.set('top', SUGGESTED);
  try {
    const {facets} = await askFor(parameters, signal);
    if (signal.aborted) {
      return;
    }
    for (const {field, values} of facets) {
      byId(`known-${field}`)?.replaceChildren(...values.map(({value, name}) =>
        make('option', {value, ...(name !== undefined && {label: line(name)})})));
    }
    offered = times;
  } catch {
    // Without suggestions any value can be typed.
  }
}

function toggle() {
  isShown = !isShown;
  ofBrowser.set(SHOWN, isShown);
  show();
  // Otherwise they are counted with the first page.
  if (view !== null) {
    loadFacets(view);
  }
}

byId('values').addEventListener('click', toggle);
