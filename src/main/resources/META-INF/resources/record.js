// One record in full: each value with its actions, and links to the records around it.

import {meaningOf} from './actions.js';
import {changesOf, changesTable} from './changes.js';
import {button, byId, exact, icon, line, long, make, paintJson} from './text.js';
import {MAX_QUERY, hasWords, metadataField, term, withTerm} from './query.js';
import {recorderName} from './recorders.js';
import {relativeText, timeText} from './times.js';

const MAX_METADATA = 100;
const MAX_DEPTH = 8;
const RELATIVE_MS = 10_000;
/** The part of a time that names its minute. */
const MINUTE = '2026-01-31T09:30'.length;

const ICONS = {
  show: 'M3.5 5h13l-5 6v4.5l-3-1.5v-3z',
  exclude: 'M10 3.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13zM5.5 14.5l9-9',
  take: 'M7.5 7.5h8.5v8.5h-8.5zM4 12.5v-8.5h8.5',
  around: 'm6.5 7.5 3.5-4 3.5 4M6.5 12.5l3.5 4 3.5-4M4 10h12',
};

/** Metadata that connect the records of one session or request, and the names of such fields. */
const KINDS = ['session', 'request', 'trace', 'correlation'];
const TOGETHER = new RegExp(`(?:^|\\.)(${KINDS.join('|')})(?:[._-]?id)?$`, 'i');

/** Copies a text, and says so in the button for a moment. A button that is an icon says it to screen readers only. */
export async function copy(text, target, label = null) {
  let told = 'Copied';
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without https the browser offers no clipboard.
    told = 'The browser forbids it';
  }
  byId('announce').textContent = told;
  target.dataset.told = told;
  if (label !== null) {
    target.textContent = told;
  }
  setTimeout(() => {
    delete target.dataset.told;
    if (label !== null) {
      target.textContent = label;
    }
  }, 2000);
}

export const copyButton = (label, text) => button({}, ({currentTarget}) => copy(text, currentTarget, label), label);

/**
 * The panel's content.
 *
 * @param filters returns the current filters at the time of a click
 * @param go applies other filters
 * @param around the address of the records around this one that pass given filters
 * @param link the address of this record alone
 */
export function recordView(record, {filters, go, around, link, paintMessage}) {
  const json = JSON.stringify(record, null, 2);
  const whole = long(json, 'pre', paintJson);
  whole.tabIndex = 0;

  /**
   * The actions of a value: filter by it or exclude it, by a filter or a field of queries; show the records with it around this one; copy it.
   */
  function actions({label, text, filter, field, search = text, isPlace = true}) {
    const withQuery = (added) => ({...filters(), q: withTerm(filters().q, added)});
    const only = () => (filter ? {...filters(), [filter]: search} : withQuery(term(field, search)));
    const not = () => withQuery(`-${term(field, search)}`);
    const offered = (wanted) => field && search !== '' && search.length <= MAX_QUERY && (wanted().q ?? '').length <= MAX_QUERY
      && Object.entries(wanted()).some(([name, value]) => value !== filters()[name]);
    const act = (name, title, clicked) =>
      button({class: `only ${name}`, 'aria-label': `${title} this ${line(label)}`, title}, clicked, icon(ICONS[name]));
    const like = filter ? {[filter]: search} : {q: field && term(field, search)};
    const near = isPlace && field && search !== '' && Object.values(like)[0].length <= MAX_QUERY;
    return make('span', {class: 'acts'},
      act('take', 'Copy', ({currentTarget}) => copy(text, currentTarget)),
      ...(near
        ? [make('a', {class: 'only near', href: around(like, record), 'aria-label': `Around this record: same ${line(label)}`, title: 'Around, with the same'},
          icon(ICONS.around))]
        : []),
      ...(offered(not) ? [act('exclude', 'Exclude', () => go(not()))] : []),
      ...(offered(only) ? [act('show', 'Only', () => go(only()))] : []));
  }

  /** A value on a line of its own, if there is one. */
  const lineOf = ({shown, kind = '', ...of}) => (of.text === undefined
    ? []
    : [make('dd', {class: kind}, make('span', {}, shown ?? long(exact(of.text))), actions({...of, text: exact(of.text)}))]);

  const field = (label, ...lines) => {
    const found = lines.flatMap((one) => lineOf({label, ...one}));
    return found.length === 0 ? [] : [make('div', {}, make('dt', {}, line(label)), ...found)];
  };

  function time(label, text, name) {
    const shown = make('span', {},
      make('time', {datetime: text}, timeText(text)), make('span', {class: 'dim relative', 'data-time': text}, relativeText(text)));
    return field(label, {text, shown, field: name, search: `${text.slice(0, MINUTE)}Z`, label: `${label}: minute`, isPlace: false});
  }

  function party(label, name, found) {
    const {type, id, name: called} = found ?? {};
    const both = called !== undefined && id !== undefined;
    return field(label,
      {text: called ?? id, search: id ?? called, filter: name, field: name},
      {text: both ? id : undefined, kind: 'dim', field: `${name}.id`, label: `${label} id`},
      {text: type, kind: called || id ? 'dim' : '', field: `${name}.type`, label: `${label} type`});
  }

  const {names, found: changes} = changesOf(record.metadata);
  const isChange = ([name]) => names.includes(name);
  const parts = Object.entries(record.metadata ?? {});
  const {found: metadata, isCut} = leaves(parts.filter((part) => !isChange(part)));
  const changed = leaves(parts.filter(isChange)).found;
  const sameAs = [
    ['everything', {}],
    ['same actor', idOf(record.actor) && {actor: idOf(record.actor)}],
    ['same subject', idOf(record.subject) && {subject: idOf(record.subject)}],
    ['same address', record.ip_address && {ip_address: record.ip_address}],
    ...together(metadata),
  ].filter(([, like]) => like);

  const listOf = (values) => make('dl', {class: 'metadata'},
    ...values.flatMap(({path, name, text}) => field(name, {text, field: path ? metadataField(path) : undefined})));

  return [
    make('div', {id: 'detail-proof', class: 'proof', role: 'status'}),
    ...(record.message
      ? [make('div', {class: 'said'}, long(record.message, 'p', paintMessage),
        actions({label: 'Message', text: record.message, field: hasWords(record.message) ? 'message' : undefined, isPlace: false}))]
      : []),
    make('nav', {class: 'around', 'aria-labelledby': 'around-title'},
      make('h3', {id: 'around-title'}, 'Around this record'),
      ...sameAs.map(([label, like]) => make('a', {href: around(like, record)}, label))),
    make('dl', {},
      ...time('Time', record.timestamp, 'occurred_at'),
      ...field('Action', {text: record.action, filter: 'action', field: 'action',
        shown: make('span', {}, long(record.action), ' ', meaningOf(record.action))}),
      ...field('Catalogue', {text: record.misfit && `${record.misfit.pointer} ${record.misfit.detail}`}),
      ...field('Outcome', {text: record.outcome, filter: 'outcome', field: 'outcome'}),
      ...party('Actor', 'actor', record.actor),
      ...party('Subject', 'subject', record.subject),
      ...field('IP address', {text: record.ip_address, filter: 'ip_address', field: 'ip'}),
      ...field('Redacted', {text: record.redacted && Object.keys(record.redacted).join(', ')}),
      ...field('Number', {text: record.number && `${record.number.sequence} ${exact(record.number.value)}`}),
      ...time('Recorded', record.recorded_at, 'recorded_at'),
      ...field('Recorded by', {
        text: record.recorded_by, filter: 'recorded_by', field: 'recorded_by', shown: record.recorded_by && make('span', {},
          recorderName(record.recorded_by), make('bdi', {class: 'dim id'}, line(record.recorded_by)))}),
      ...field('Sequence id', {text: record.sequence_id}),
      ...field('Id', {text: record.id})),
    ...(changes.length > 0
      ? [...changesTable(changes), make('details', {}, make('summary', {}, 'Each value, to filter by'), listOf(changed))]
      : []),
    ...(metadata.length > 0 ? [make('h3', {class: 'part'}, 'Metadata')] : []),
    listOf(metadata),
    ...(isCut ? [make('p', {class: 'note'}, 'The rest is in the JSON below.')] : []),
    make('div', {class: 'copy'},
      make('h3', {}, 'JSON'),
      copyButton('Copy JSON', json),
      copyButton('Copy link', link)),
    whole,
  ];
}

const idOf = (party) => party?.id ?? party?.name;

/** Queries for the records of the same session, request, trace and correlation. Each uses its first field in the metadata. */
function together(metadata) {
  const found = new Map();
  for (const {path, name, text} of metadata) {
    const [, kind] = TOGETHER.exec(name) ?? [];
    const q = kind && path && text !== '' ? term(metadataField(path), text) : '';
    if (q !== '' && q.length <= MAX_QUERY && !found.has(kind.toLowerCase())) {
      found.set(kind.toLowerCase(), {q});
    }
  }
  return KINDS.filter((kind) => found.has(kind)).map((kind) => [`same ${kind}`, found.get(kind)]);
}

/**
 * The values in parts of metadata, each with its path in a query. The path of an element is that of its list.
 *
 * @returns the values to show, and whether there are more
 */
function leaves(parts) {
  const found = [];
  let isCut = false;
  const visit = (value, path, name) => {
    if (found.length >= MAX_METADATA || path.length > MAX_DEPTH) {
      isCut = true;
      return;
    }
    if (value === null || value?.rawJSON !== undefined || typeof value !== 'object') {
      found.push({path: value === null ? null : path, name, text: exact(value)});
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      const isElement = Array.isArray(value) && (inner === null || typeof inner !== 'object' || inner.rawJSON !== undefined);
      visit(inner, isElement ? path : [...path, key], name === '' ? key : `${name}.${key}`);
    }
  };
  parts.forEach(([key, value]) => visit(value, [key], key));
  return {found, isCut};
}

setInterval(() => {
  for (const element of document.querySelectorAll('#detail .relative')) {
    element.textContent = relativeText(element.dataset.time);
  }
}, RELATIVE_MS);
