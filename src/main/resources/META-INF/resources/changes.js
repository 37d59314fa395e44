// The changes that a record names in its metadata, side by side.

import {button, exact, line, long, make, shown} from './text.js';

const MAX_CHANGES = 100;
const MAX_DEPTH = 8;
/** The names of the value before and the value after, in an entry of `changes`. */
const PAIRS = [['before', 'after'], ['old', 'new'], ['from', 'to'], ['old_value', 'new_value']];
const FIELDS = ['field', 'name', 'path', 'key', 'attribute'];

const isNumber = (value) => value?.rawJSON !== undefined;
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && !isNumber(value);
const own = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);

/** The values of an entry, or null if it is none: {"from": 1, "to": 2}, or in an object of fields also [1, 2]. */
function pairOf(entry) {
  if (Array.isArray(entry)) {
    return entry.length === 2 ? entry : null;
  }
  const names = isObject(entry) ? PAIRS.find((pair) => pair.some((name) => Object.hasOwn(entry, name))) : undefined;
  return names === undefined ? null : names.map((name) => own(entry, name));
}

/** The values within an object by their paths. Lists stay whole. */
function flat(value, path = '', depth = 0, found = new Map()) {
  if (isObject(value) && depth < MAX_DEPTH && (path === '' || Object.keys(value).length > 0)) {
    for (const [name, inner] of Object.entries(value)) {
      const quoted = name === '' || /[."]/.test(name) ? JSON.stringify(name) : name;
      flat(inner, path === '' ? quoted : `${path}.${quoted}`, depth + 1, found);
    }
  } else if (value !== undefined && (path !== '' || value !== null)) {
    found.set(path, value);
  }
  return found;
}

function changesIn(changes) {
  const entries = Array.isArray(changes)
    ? changes.map((entry) => [FIELDS.map((name) => isObject(entry) && own(entry, name)).find((name) => typeof name === 'string'),
      Array.isArray(entry) ? null : pairOf(entry)])
    : isObject(changes) ? Object.entries(changes).map(([name, entry]) => [name, pairOf(entry)]) : [];
  if (entries.every(([name, pair]) => name !== undefined && pair !== null)) {
    return entries.map(([field, [before, after]]) => ({field, before, after}));
  }
  return isObject(changes) ? comparedIn(changes) : [];
}

function comparedIn({before, after}) {
  if (!(isObject(before) || before === null) || !(isObject(after) || after === null)) {
    return [];
  }
  const [old, now] = [flat(before), flat(after)];
  return [...new Set([...old.keys(), ...now.keys()])].map((field) => ({field, before: old.get(field), after: now.get(field)}));
}

const json = (value) => (value === undefined ? undefined : JSON.stringify(value));
const differs = ({before, after}) => json(before) !== json(after);

/**
 * The changes in metadata: `changes`, a list or an object of fields, or else the objects `before` and `after`.
 *
 * @returns the names in metadata that have them, and each change {field, before, after}, those that differ first; undefined is no value
 */
export function changesOf(metadata) {
  const {changes, before, after} = metadata ?? {};
  const listed = changesIn(changes);
  const isListed = listed.length > 0;
  const found = isListed ? listed : before !== undefined && after !== undefined ? comparedIn({before, after}) : [];
  return {
    names: found.length === 0 ? [] : isListed ? ['changes'] : ['before', 'after'],
    found: [...found.filter(differs), ...found.filter((change) => !differs(change))],
  };
}

const textOf = (value) => (typeof value === 'string' || isNumber(value) ? exact(value) : json(value));

/** The range of a text that differs from another one. It does not divide a character. */
function difference(text, other) {
  const least = Math.min(text.length, other.length);
  let start = 0;
  while (start < least && text[start] === other[start]) {
    start++;
  }
  let end = 0;
  while (end < least - start && text.at(-1 - end) === other.at(-1 - end)) {
    end++;
  }
  const isLow = (at) => /[\udc00-\udfff]/.test(text[at] ?? '');
  return [isLow(start) ? start - 1 : start, isLow(text.length - end) ? text.length - end + 1 : text.length - end];
}

function cell(value, other, tag) {
  if (value === undefined) {
    return make('td', {class: 'dim'}, 'none');
  }
  // A number and a text may read alike.
  const [text, compared] = textOf(value) === textOf(other) ? [json(value), json(other)] : [textOf(value), textOf(other)];
  if (json(value) === json(other)) {
    return make('td', {class: 'dim'}, long(textOf(value)));
  }
  const [start, end] = compared === undefined ? [0, Infinity] : difference(shown(text), shown(compared));
  return make('td', {}, long(text, 'bdi', (part) => [
    part.slice(0, start), ...(part.slice(start, end) === '' ? [] : [make(tag, {}, part.slice(start, end))]), part.slice(end)]));
}

/** The table of changes, which differ in what is marked. */
export function changesTable(found) {
  const rows = ({field, before, after}) => make('tr', {class: differs({before, after}) ? 'changed' : 'same'},
    make('th', {scope: 'row'}, make('bdi', {}, line(field))), cell(before, after, 'del'), cell(after, before, 'ins'));
  const body = make('tbody', {}, ...found.slice(0, MAX_CHANGES).map(rows));
  const rest = found.slice(MAX_CHANGES);
  return [
    make('h3', {class: 'part', id: 'changes-title'}, 'Changes'),
    make('table', {class: 'changes', 'aria-labelledby': 'changes-title'},
      make('thead', {}, make('tr', {}, ...['Field', 'Before', 'After'].map((name) => make('th', {scope: 'col'}, name)))),
      body),
    ...(rest.length === 0 ? [] : [button({class: 'link'}, ({currentTarget}) => {
      body.append(...rest.map(rows));
      currentTarget.remove();
      body.rows[MAX_CHANGES].querySelector('th').tabIndex = -1;
      body.rows[MAX_CHANGES].querySelector('th').focus();
    }, `… show ${rest.length} more`)]),
  ];
}
