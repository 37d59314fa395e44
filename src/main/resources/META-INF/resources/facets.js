// The values of the records that pass the filters, with their counts. A click shows only these records, or all others.

import {FEED, askJson, ofBrowser} from './api.js';
import {isPath} from './columns.js';
import {metadataField, term, withTerm} from './query.js';
import {nameOf, readNames} from './recorders.js';
import {recordsBetween} from './store.js';
import {button, byId, count, icon, line, make, records} from './text.js';

const SHOWN = 'annals.values';
const PATHS = 'annals.facets';
const TOP = 8;
/** The service counts the values at so many paths in the metadata. */
const MAX_PATHS = 4;
/** The records that suggest paths, and the suggested paths. */
const MAX_LOOKED = 200;
const MAX_SUGGESTED = 100;
const MAX_DEPTH = 8;
const SUGGESTED = 100;
const FIELDS = {
  action: ['Action', 'action'], actor: ['Actor', 'actor'], subject: ['Subject', 'subject'], outcome: ['Outcome', 'outcome'],
  ip_address: ['IP address', 'ip'], recorded_by: ['Recorded by', 'recorded_by'],
};

let view = null;
/** The range of time whose values the filters suggest. */
let offered = null;
let isShown = ofBrowser.get(SHOWN) === 'true';

/** The paths in the metadata whose values are counted, too. */
let paths = (ofBrowser.get(PATHS) ?? '').split(',').filter(isPath).slice(0, MAX_PATHS);

/** The counts of a query, which the chart shows, too. */
export const counts = (given) =>
  (given.counts ??= askFor({...given.asked, top: TOP, ...(isShown && paths.length > 0 && {metadata: paths.join()})}, given.signal));

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
    await readNames((answer.facets.find(({field}) => field === 'recorded_by')?.values ?? []).map(({value}) => value));
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
  list.replaceChildren(...facets.filter(({values, field}) => (values.length > 0 && Object.hasOwn(FIELDS, field)) || paths.includes(field))
    .map((facet) => drawFacet(facet, complete)));
  if (section !== undefined) {
    const buttons = [...list.querySelectorAll('button')];
    const near = buttons.find((one) => one.closest('section').getAttribute('aria-labelledby') === section);
    (buttons.find((one) => one.dataset.key === key) ?? near ?? byId('values')).focus();
  }
}

/** The label of a field, and its name in a query. */
const namesOf = (field) => (Object.hasOwn(FIELDS, field) ? FIELDS[field] : [line(field.slice('metadata.'.length)), field]);

function drawFacet({field, values, distinct, missing}, complete) {
  const [label] = namesOf(field);
  const notes = [
    distinct > values.length && `${atLeast(distinct, complete)} different`, missing > 0 && `${atLeast(missing, complete)} without`,
  ].filter(Boolean).join(', ');
  const isChosen = paths.includes(field);
  const id = `facet-${isChosen ? `path-${paths.indexOf(field)}` : field}`;
  return make('section', {'aria-labelledby': id},
    make('h3', {id}, make('bdi', {}, label)),
    ...(isChosen
      ? [button({class: 'only', 'aria-label': `Do not count ${label}`, title: 'Do not count'}, () => {
        choosePaths(paths.filter((path) => path !== field));
        byId('facet-path').focus();
      }, icon('m5.5 5.5 9 9m0-9-9 9'))]
      : []),
    make('ul', {}, ...values.map((value) => drawValue(field, value, values[0].count, complete))),
    ...(notes ? [make('p', {class: 'note'}, notes)] : []));
}

function drawValue(field, {value, name, count: number}, highest, complete) {
  const {filters} = view;
  const select = (wanted) => view?.filters === filters && view.select(wanted);
  const [label, queried] = namesOf(field);
  const isFilter = Object.hasOwn(FIELDS, field);
  const added = term(queried, value);
  const padded = ` ${filters.q ?? ''} `;
  const isOn = isFilter ? filters[field] === value : padded.includes(` ${added} `);
  const {[field]: _, ...others} = filters;
  const {q: __, ...withoutQuery} = filters;
  const rest = padded.replace(` ${added} `, ' ').trim();
  const only = isFilter ? {...filters, [field]: value} : {...filters, q: withTerm(filters.q, added)};
  const any = isFilter ? others : {...withoutQuery, ...(rest && {q: rest})};
  const share = make('svg', {class: 'share', viewBox: '0 0 100 1', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    make('rect', {x: 0, y: 0, height: 1, width: (number / highest) * 100}));
  const text = line(name ?? nameOf(value));
  return make('li', {},
    share,
    button({
      class: 'value-only', 'data-key': `only ${field} ${value}`, 'aria-pressed': isOn, title: line(name === undefined ? value : `${name} · ${value}`),
      'aria-label': `${isOn ? 'Any' : 'Only this'} ${label}: ${text}, ${atLeast(number, complete)}`,
    }, () => select(isOn ? any : only),
      make('bdi', {}, text), make('span', {class: 'count'}, `${complete ? '' : '≥ '}${count.format(number)}`)),
    button({class: 'only', 'data-key': `exclude ${field} ${value}`, 'aria-label': `Exclude this ${label}: ${text}`, title: 'Exclude'},
      () => select({...others, q: withTerm(filters.q, `-${added}`)}),
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
  offered = times;
  const parameters = new URLSearchParams(times);
  parameters.set('top', SUGGESTED);
  try {
    const {facets} = await askFor(parameters, signal);
    if (signal.aborted) {
      offered = null;
      return;
    }
    for (const {field, values} of facets) {
      byId(`known-${field}`)?.replaceChildren(...values.map(({value, name}) =>
        make('option', {value, ...(name !== undefined && {label: line(name)})})));
    }
  } catch {
    offered = null;
    // Without suggestions any value can be typed.
  }
}

/** Suggests values of the time that is looked at, unless they are there. */
export const offerValues = () => view !== null && offered !== timesOf(view) && suggest();

// ---- Paths in the metadata -----------------------------------------------------------------------------------------

/** The paths that loaded records have, the most frequent first. */
function pathsOfRecords() {
  const found = new Map();
  const visit = (value, path) => {
    if (value === null || typeof value !== 'object' || value.rawJSON !== undefined) {
      const text = metadataField(path);
      isPath(text) && found.set(text, (found.get(text) ?? 0) + 1);
    } else if (!Array.isArray(value) && path.length < MAX_DEPTH) {
      Object.entries(value).forEach(([name, inner]) => visit(inner, [...path, name]));
    }
  };
  recordsBetween(0, MAX_LOOKED).forEach(({metadata}) => visit(metadata ?? {}, []));
  return [...found].sort(([, one], [, other]) => other - one).slice(0, MAX_SUGGESTED).map(([path]) => path);
}

function choosePaths(wanted) {
  paths = wanted;
  ofBrowser.set(PATHS, paths.join());
  if (view !== null) {
    view.counts = undefined;
    loadFacets(view);
  }
}

function addPath(submit) {
  submit.preventDefault();
  const given = byId('facet-path').value.trim();
  const path = given.startsWith('metadata.') ? given : `metadata.${given}`;
  const error = byId('facet-error');
  if (!isPath(path)) {
    error.textContent = 'This is no path. Write it as in a query: request_id, or http.status.';
  } else if (paths.length >= MAX_PATHS && !paths.includes(path)) {
    error.textContent = `${MAX_PATHS} paths are counted already: remove one first.`;
  } else {
    error.textContent = '';
    byId('facet-path').value = '';
    choosePaths([...new Set([...paths, path])]);
  }
}

byId('facet-form').addEventListener('submit', addPath);
byId('facet-path').addEventListener('focus', () => byId('facet-paths').replaceChildren(
  ...pathsOfRecords().map((path) => make('option', {value: path.slice('metadata.'.length)}))));

function toggle() {
  isShown = !isShown;
  ofBrowser.set(SHOWN, isShown);
  show();
  // Otherwise they are counted with the first page.
  if (view !== null) {
    if (paths.length > 0) {
      view.counts = undefined;
    }
    loadFacets(view);
  }
}

byId('values').addEventListener('click', toggle);
