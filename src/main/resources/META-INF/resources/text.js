// Elements and their texts. Records are hostile text: every value becomes a text node, and the Content-Security-Policy (Trusted Types)
// forbids any other way into the page.

const MAX_SHOWN = 2000;

export const byId = (id) => document.getElementById(id);
export const count = new Intl.NumberFormat('en');
export const records = (n) => `${count.format(n)} ${n === 1 ? 'record' : 'records'}`;

/** Makes an element with attributes (no style, no handler) and children. Strings become text. */
export function make(tag, attributes = {}, ...children) {
  const svg = ['svg', 'g', 'rect', 'path'].includes(tag);
  const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function button(attributes, clicked, ...children) {
  const element = make('button', {type: 'button', ...attributes}, ...children);
  element.addEventListener('click', clicked);
  return element;
}

/**
 * If the element with the focus is gone, moves the focus to the first of the others that is visible. Otherwise keys and screen readers
 * would begin at the top of the page again.
 */
export function passFocus(from, ...others) {
  const isThere = (element) => element?.isConnected && element.closest('[hidden]') === null && !element.disabled;
  // The browser may have noticed already.
  const isLost = document.activeElement === from || document.activeElement === document.body;
  if (isLost && from !== document.body && !isThere(from)) {
    others.find(isThere)?.focus({preventScroll: true});
  }
}

export const icon = (path) => make('svg', {viewBox: '0 0 20 20', 'aria-hidden': 'true'}, make('path', {d: path}));

/**
 * Invisible characters, and those that change how others look: controls, the direction of text, all that Unicode lets programs ignore
 * except in emoji, blanks that are no spaces, and a mark behind 8 others. The command line has the same rule, in Terminal.
 */
const EMOJI_PART = '(?<=[\\p{So}\\p{Sk}]\\ufe0f?)\\u200d|(?<=[\\p{So}\\p{Sk}])\\ufe0f';
const UNSEEN = new RegExp(`(?!${EMOJI_PART})(?:[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Cn}\\p{Zl}\\p{Zp}\\p{DI}\\u2800\\u{1d159}]|(?<=[\\p{Mn}\\p{Me}]{8})[\\p{Mn}\\p{Me}])`, 'gu');
const isLine = (character) => character === '\n' || character === '\t';

function escape(character) {
  return [...Array(character.length).keys()].map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
}

/** A value on one line, with invisible characters as escapes. */
export function line(text) {
  return text.slice(0, MAX_SHOWN).replace(UNSEEN, (c) => (c === '\n' ? '↵' : c === '\t' ? ' ' : escape(c)));
}

/** A value in full, with invisible characters but ends of lines as escapes. */
export const shown = (text) => text.replace(UNSEEN, (c) => (isLine(c) ? c : escape(c)));

/** A value in full; of a long one the beginning, and a button for the rest. */
export function long(text, tag = 'bdi', paint = (part) => [part]) {
  const safe = shown(text);
  const element = make(tag, {class: 'value', dir: 'auto'}, ...paint(safe.slice(0, MAX_SHOWN)));
  if (safe.length <= MAX_SHOWN) {
    return element;
  }
  const showAll = () => element.replaceChildren(...paint(safe));
  element.append(button({class: 'link'}, showAll, `… show all ${count.format(safe.length)} characters`));
  return element;
}

/** Parses JSON without rounding: a number that does not fit keeps its text. */
export function parseJson(text) {
  return JSON.parse(text, (key, value, context) =>
    typeof value === 'number' && context?.source !== undefined && JSON.rawJSON && String(value) !== context.source
      ? JSON.rawJSON(context.source)
      : value);
}

const JSON_TOKEN = /("(?:[^"\\]|\\.)*"?)(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

export function paintJson(text) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(JSON_TOKEN)) {
    const kind = match[2] ? 'key' : match[1] ? 'string' : 'literal';
    nodes.push(text.slice(end, match.index), make('span', {class: kind}, match[1] ?? match[0]), match[2] ?? '');
    end = match.index + match[0].length;
  }
  return [...nodes, text.slice(end)];
}

/** The text of a value out of parseJson. */
export const exact = (parsed) => String(parsed?.rawJSON ?? parsed);

export const partyText = (party) => party?.name ?? party?.id ?? party?.type ?? '';

export function outcomeKind(outcome = '') {
  if (/^(success(ful)?|succeeded|ok|allow(ed)?|grant(ed)?|accept(ed)?|pass(ed)?|completed?)$/i.test(outcome)) {
    return 'success';
  }
  return /^(fail(ed|ure)?|error|den(y|ied)|refused?|reject(ed)?|block(ed)?|forbidden|unauthori[sz]ed)$/i.test(outcome)
    ? 'failure'
    : 'other';
}
