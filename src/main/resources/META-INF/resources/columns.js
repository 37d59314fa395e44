// The columns of the rows: stored in this browser, or named by the address.

import {ofBrowser} from './api.js';
import {state, watch} from './store.js';
import {button, byId, exact, icon, line, make} from './text.js';
import {zoneName} from './times.js';

const KEPT = 'annals.columns';
const NAMES = {
  time: 'Time', action: 'Action', actor: 'Actor', subject: 'Subject', outcome: 'Outcome', ip_address: 'IP address',
  recorded_by: 'Recorded by', recorded_at: 'Recorded', message: 'Message', number: '#',
};
/** The first links to the record, and the second shows its proof. */
const ALWAYS = ['time', 'action'];
const USUAL = ['time', 'action', 'actor', 'subject', 'outcome', 'message', 'number'];
const MAX_METADATA = 8;
const PATH = /^metadata(?:\.(?:[^\s".,:()]{1,100}|"(?:[^"\\,]|\\["\\]){1,100}")){1,8}$/;
const NAME = /\.(?:"((?:[^"\\]|\\.)*)"|([^."]+))/g;
/** In rem; messages take the remaining width. */
const WIDTHS = {
  time: 11, action: 13, actor: 12.5, subject: 14, outcome: 6.5, ip_address: 10, recorded_by: 13, recorded_at: 11, message: 16, number: 5.5,
};
const METADATA_WIDTH = 9;
/** As wide on paper as their content, which has a similar length in each row. */
const FIXED = ['time', 'recorded_at', 'outcome', 'number'];

const MAX_PATH = 200;
/** Whether a text is the path of a value in the metadata, as in a query. */
export const isPath = (text) => text.length <= MAX_PATH && PATH.test(text);

/** Known columns in their order, with those of metadata before message and number. */
function cleaned(names) {
  const wanted = new Set([...ALWAYS, ...names]);
  const paths = [...wanted].filter((name) => PATH.test(name)).slice(0, MAX_METADATA);
  const known = Object.keys(NAMES).filter((name) => wanted.has(name));
  const isLast = (name) => name === 'message' || name === 'number';
  return [...known.filter((name) => !isLast(name)), ...paths, ...known.filter(isLast)];
}

const read = (text) => (text ? cleaned(text.split(',')) : USUAL);

export let columns = read(ofBrowser.get(KEPT));
export const isUsual = () => columns.join() === USUAL.join();
export const title = (name) => NAMES[name] ?? name.slice('metadata.'.length);
export const isMetadata = (name) => !Object.hasOwn(NAMES, name);

/** Shows the columns of an address or, without any, those stored in this browser. @returns whether they changed */
export function take(text) {
  const before = columns.join();
  columns = read(text ?? ofBrowser.get(KEPT));
  return columns.join() !== before;
}

/** The text of a record at a column's path. */
export function metadataAt(record, column) {
  let value = record.metadata;
  for (const [, quoted, plain] of column.matchAll(NAME)) {
    const name = quoted?.replace(/\\(.)/g, '$1') ?? plain;
    value = value !== null && typeof value === 'object' && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  if (value === undefined) {
    return '';
  }
  return value !== null && typeof value === 'object' && value.rawJSON === undefined ? JSON.stringify(value) : exact(value);
}

watch(['columns', 'zone', 'byTime'], drawHeads);

function drawHeads() {
  byId('heads').replaceChildren(...columns.map((name) => make(
    'th', {role: 'columnheader', scope: 'col', class: isMetadata(name) ? 'metadata' : name, ...(name === (state.byTime ? 'time' : 'number') && {'aria-sort': 'descending'})},
    ...(name === 'number' ? [make('abbr', {title: 'Sequence id'}, '#')] : [make('bdi', {}, line(title(name)))]),
    ...(name === 'time' || name === 'recorded_at' ? [' ', make('small', {class: 'zone-name'}, zoneName())] : []))));
  const {classList, style} = byId('rows').parentElement;
  classList.toggle('chosen', !isUsual());
  style.setProperty('--flexible', columns.filter((name) => !FIXED.includes(name)).length);
  fit();
}

/** Narrows all columns if they do not fit. */
export function fit() {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const wanted = columns.map((name) => (WIDTHS[name] ?? METADATA_WIDTH) * rem);
  const scale = Math.min(1, byId('rows').parentElement.clientWidth / wanted.reduce((sum, width) => sum + width, 0));
  [...byId('heads').children].forEach((head, i) => {
    head.style.width = isUsual() || (columns[i] === 'message' && scale === 1) ? '' : `${wanted[i] * scale}px`;
  });
}

// ---- The dialog ----------------------------------------------------------------------------------------------------

let changed = () => {};

function choose(names) {
  columns = cleaned(names);
  isUsual() ? ofBrowser.remove(KEPT) : ofBrowser.set(KEPT, columns.join());
  drawChoice();
  changed();
}

function drawChoice() {
  const box = (name) => {
    const input = make('input', {
      type: 'checkbox', ...(columns.includes(name) && {checked: ''}), ...(ALWAYS.includes(name) && {disabled: ''}),
    });
    input.addEventListener('change', () => {
      choose(input.checked ? [...columns, name] : columns.filter((other) => other !== name));
      byId('columns-list').querySelector(`[data-column="${name}"] input`).focus();
    });
    return make('label', {class: 'check', 'data-column': name}, input, name === 'number' ? 'Sequence id' : title(name));
  };
  byId('columns-list').replaceChildren(...Object.keys(NAMES).map(box));
  byId('columns-metadata').replaceChildren(...columns.filter(isMetadata).map((name) => make('li', {},
    make('code', {}, make('bdi', {}, line(name))),
    button({class: 'icon', 'aria-label': `Remove the column ${line(name)}`}, () => {
      choose(columns.filter((other) => other !== name));
      byId('column-path').focus();
    }, icon('m5.5 5.5 9 9m0-9-9 9')))));
}

function addPath(submit) {
  submit.preventDefault();
  const given = byId('column-path').value.trim();
  const path = given.startsWith('metadata.') ? given : `metadata.${given}`;
  const error = byId('column-error');
  if (!PATH.test(path)) {
    error.textContent = 'This is no path. Write it as in a query: request_id, or http.status.';
  } else if (columns.filter(isMetadata).length >= MAX_METADATA) {
    error.textContent = `There are ${MAX_METADATA} columns of metadata already: remove one first.`;
  } else {
    error.textContent = '';
    byId('column-path').value = '';
    choose([...columns, path]);
  }
}

export function begin(listener) {
  changed = listener;
  byId('columns').addEventListener('click', () => {
    drawChoice();
    byId('column-error').textContent = '';
    byId('columns-dialog').showModal();
    byId('columns-title').focus();
  });
  byId('close-columns').addEventListener('click', () => byId('columns-dialog').close());
  byId('usual-columns').addEventListener('click', () => choose(USUAL));
  byId('column-form').addEventListener('submit', addPath);
}
