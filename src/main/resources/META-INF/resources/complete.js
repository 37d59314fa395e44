// Completes the query in the search box: fields, values, recent queries. The box is an ARIA combobox. The help shows the whole language.

import {FEED, askJson, isLink, ofBrowser, project} from './api.js';
import {offerValues} from './facets.js';
import {LANGUAGE, decomposed, metadataField, term} from './query.js';
import {recordsBetween, watch} from './store.js';
import {button, byId, exact, line, make} from './text.js';
import {PRESETS} from './times.js';

const RECENT = 'annals.queries';
const MAX_RECENT = 20;
const SHOWN = 8;
/** The loaded records whose types and metadata are offered. */
const LOOKED_AT = 500;

const box = byId('filters').elements.q;
const list = byId('completions');
let options = [];
let active = -1;
/** The terms of the project's dictionary, by field and beginning; null after a refusal: links to some records get none. */
let terms = new Map();
const MAX_TERMS = 100;
const PAUSE_MS = 150;
let pause;
/** Whether the reader has closed the list, so that no late answer opens it. */
let isClosed = true;

// ---- Offers --------------------------------------------------------------------------------------------------------

const known = (name) => [...byId(`known-${name}`).children].map((option) => ({value: option.value, note: option.label}));
const different = (texts) => [...new Set(texts)].filter((text) => text !== undefined && text !== '').map((value) => ({value, note: ''}));
const loaded = (read) => different(recordsBetween(0, LOOKED_AT).map(read));
const isText = (value) => ['string', 'number', 'boolean'].includes(typeof value) || value?.rawJSON !== undefined;

const VALUES = {
  action: () => known('action'), actor: () => known('actor'), subject: () => known('subject'), outcome: () => known('outcome'),
  ip: () => known('ip_address'), recorded_by: () => known('recorded_by'),
  'actor.id': () => loaded(({actor}) => actor?.id), 'subject.id': () => loaded(({subject}) => subject?.id),
  'actor.name': () => loaded(({actor}) => actor?.name), 'subject.name': () => loaded(({subject}) => subject?.name),
  'actor.type': () => loaded(({actor}) => actor?.type), 'subject.type': () => loaded(({subject}) => subject?.type),
  last: () => Object.entries(PRESETS).map(([value, note]) => ({value, note})),
};

/** The metadata's fields, by how a query writes them. */
const metadataFields = () => new Map(
  different(recordsBetween(0, LOOKED_AT).flatMap(({metadata}) => Object.keys(metadata ?? {}))).map(({value}) => [metadataField([value]), value]));

/** The names of the metadata that are loaded, and those of the dictionary. */
const namesOf = (part) => [...new Set([
  ...metadataFields().keys(), ...(part.typed.startsWith('metadata.') ? termsFor(part).map(({value}) => metadataField([value])) : []),
])];

function metadataValues(field) {
  const name = metadataFields().get(field);
  return name === undefined ? [] : loaded(({metadata}) => {
    const value = metadata?.[name];
    return isText(value) ? exact(value) : undefined;
  });
}

const DICTIONARY = ['action', 'outcome', 'actor.type', 'subject.type'];

/** The parameters of a question to the dictionary; null if it has no such terms. */
function askedOf({field, typed}) {
  const asked = field !== null ? DICTIONARY.includes(field) && [field, typed]
    : /^metadata\.[^"]*$/.test(typed) ? ['metadata', typed.slice('metadata.'.length)] : typed.length > 1 && ['word', typed];
  return asked ? new URLSearchParams({field: asked[0], prefix: asked[1].slice(0, 256), limit: SHOWN}).toString() : null;
}

const termsFor = (part) => (terms?.get(askedOf(part)) ?? []).map((value) => ({value, note: ''}));

/** Asks the dictionary when the reader pauses, and shows what it has. */
function askLater(part) {
  clearTimeout(pause);
  const asked = askedOf(part);
  if (asked === null || terms === null || terms.has(asked)) {
    return;
  }
  const text = box.value;
  pause = setTimeout(async () => {
    const own = terms;
    try {
      const {values} = await askJson(`${FEED}/suggestions?${asked}`);
      own.size >= MAX_TERMS && own.clear();
      own.set(asked, values);
    } catch ({status}) {
      // Without the dictionary, values are completed from what is loaded.
      terms = status === 403 && own === terms ? null : terms;
    }
    if (own === terms && box.value === text && active < 0 && document.activeElement === box && !isClosed) {
      show();
    }
  }, PAUSE_MS);
}

function recent() {
  try {
    const all = JSON.parse(ofBrowser.get(RECENT) ?? '[]');
    return Array.isArray(all) ? all.filter((one) => typeof one?.[0] === 'string' && typeof one[1] === 'string') : [];
  } catch {
    return [];
  }
}

/** Keeps a query in this browser, with its project. Those of links are not kept. */
export function remember(query) {
  if (query && !isLink && project !== null) {
    const others = recent().filter(([of, text]) => of !== project || text !== query);
    ofBrowser.set(RECENT, JSON.stringify([[project, query], ...others].slice(0, MAX_RECENT)));
  }
}

// ---- The place in the query ----------------------------------------------------------------------------------------

/** The part of a query that ends at the caret: the start of its value, or of the whole, and its field, null before a colon. */
function partAt(text) {
  let start = 0;
  let colon = -1;
  let value = -1;
  let isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (isQuoted && character === '\\') {
      i++;
    } else if (character === '"') {
      isQuoted = !isQuoted;
    } else if (!isQuoted && /[\s()]/.test(character)) {
      [start, colon] = [i + 1, -1];
    } else if (!isQuoted && character === ':' && colon < 0) {
      [colon, value] = [i, i + 1];
    } else if (!isQuoted && character === ',' && colon >= 0) {
      value = i + 1;
    }
  }
  start += text[start] === '-' ? 1 : 0;
  return colon < start
    ? {from: start, field: null, typed: text.slice(start)}
    : {from: value, field: text.slice(start, colon).toLowerCase(), fieldAsTyped: text.slice(start, colon), typed: text.slice(value).replace(/^"/, '')};
}

const folded = (text) => decomposed(text).replace(/\p{M}/gu, '').toLowerCase();

const unlike = (values) => [...new Map(values.map((one) => [one.value, one])).values()];

function offered(text) {
  const part = partAt(text);
  const {from, field, fieldAsTyped, typed} = part;
  askLater(part);
  const begins = (candidate) => folded(candidate).startsWith(folded(typed));
  if (field !== null) {
    const values = field.startsWith('metadata.') ? metadataValues(fieldAsTyped) : VALUES[field]?.() ?? [];
    return unlike([...termsFor(part), ...values]).filter(({value, note}) => begins(value) || begins(note))
      .map(({value, note}) => ({from, text: value, note: note === value ? '' : note, insert: `${term(field, value).slice(field.length + 1)} `}));
  }
  const queries = recent().filter(([of, query]) => of === project && query !== text && query.startsWith(text))
    .map(([, query]) => ({from: 0, text: query, note: 'Recent', insert: query}));
  const fields = typed === '' && text !== '' ? [] : [
    ...LANGUAGE.filter(({field: name}) => name !== undefined && begins(name)).map(({field: name, means}) => ({from, text: `${name}:`, note: means, insert: `${name}:`})),
    ...(typed === '' ? [] : namesOf(part).filter(begins).map((name) => ({from, text: `${name}:`, note: 'Metadata', insert: `${name}:`}))),
  ];
  const words = typed.startsWith('metadata.') ? [] : termsFor(part).filter(({value}) => value !== folded(typed))
    .map(({value}) => ({from, text: value, note: 'Word', insert: `${term('q', value).slice(2)} `}));
  return [...queries.slice(0, 5), ...fields, ...words];
}

// ---- The list ------------------------------------------------------------------------------------------------------

function show() {
  if (box.selectionStart !== box.selectionEnd || document.activeElement !== box) {
    close();
    return;
  }
  offerValues();
  isClosed = false;
  options = offered(box.value.slice(0, box.selectionStart)).slice(0, SHOWN);
  active = -1;
  list.replaceChildren(...options.map(({text, note}, i) => {
    const item = make('li', {id: `completion-${i}`, role: 'option', 'aria-selected': false},
      make('bdi', {}, line(text)), ...(note ? [make('span', {class: 'dim'}, line(note))] : []));
    item.addEventListener('click', () => accept(options[i]));
    return item;
  }));
  list.hidden = options.length === 0;
  box.setAttribute('aria-expanded', !list.hidden);
  box.removeAttribute('aria-activedescendant');
}

function close() {
  clearTimeout(pause);
  isClosed = true;
  options = [];
  active = -1;
  list.hidden = true;
  list.replaceChildren();
  box.setAttribute('aria-expanded', false);
  box.removeAttribute('aria-activedescendant');
}

function move(by) {
  active = (active + by + options.length + (active < 0 && by < 0 ? 1 : 0)) % options.length;
  [...list.children].forEach((item, i) => item.setAttribute('aria-selected', i === active));
  list.children[active].scrollIntoView({block: 'nearest'});
  box.setAttribute('aria-activedescendant', `completion-${active}`);
}

function accept({from, insert}) {
  const text = box.value.slice(0, from) + insert;
  if (text.length + box.value.length - box.selectionStart <= box.maxLength) {
    box.setRangeText(insert, from, box.selectionStart, 'end');
  }
  insert.endsWith(':') ? show() : close();
}

function pressed(event) {
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const {key} = event;
  if (list.hidden) {
    if (key === 'ArrowDown') {
      event.preventDefault();
      show();
      options.length > 0 && move(1);
    }
  } else if (key === 'ArrowDown' || key === 'ArrowUp') {
    event.preventDefault();
    move(key === 'ArrowDown' ? 1 : -1);
  } else if (key === 'Escape') {
    // Neither the page nor the browser, which would empty the box, handles this key.
    event.preventDefault();
    event.stopPropagation();
    close();
  } else if ((key === 'Enter' || key === 'Tab') && active >= 0 && !event.shiftKey) {
    event.preventDefault();
    accept(options[active]);
  }
}

function written() {
  if (box.value === '?') {
    box.value = '';
    close();
    byId('help').showModal();
  } else {
    show();
  }
}

// ---- Help ----------------------------------------------------------------------------------------------------------

byId('language').replaceChildren(...LANGUAGE.map(({write, means}) => make('div', {},
  make('dt', {}, button({class: 'link', title: 'Write this into the search box'}, () => tryOut(write), write)), make('dd', {}, means))));

function tryOut(example) {
  byId('help').close();
  box.value = example;
  box.focus();
}

box.addEventListener('input', written);
box.addEventListener('keydown', pressed);
box.addEventListener('click', () => box.value === '' && show());
box.addEventListener('blur', close);
list.addEventListener('mousedown', (event) => event.preventDefault());
byId('filters').addEventListener('submit', close);
watch(['project', 'filters'], ({project: shown}) => {
  close();
  terms = shown === null ? new Map() : terms;
});
