// Parts of the areas of the administration: forms with the errors of the API beside their fields, lists, and confirmations.

import {Problem, askJson} from './api.js';
import {button, line, make} from './text.js';
import {timeText} from './times.js';

let made = 0;

/**
 * A labelled field.
 *
 * @param name the JSON pointer of its value in the body, without the first slash
 * @param options values and texts of a choice; with `several`, any of them
 * @param read turns the text into the value of the body
 * @param attributes of the input
 */
export function field(label, name, {note = '', options, several, wide, read = (text) => text, ...attributes} = {}) {
  const id = `field-${++made}`;
  const error = make('p', {class: 'error', id: `${id}-error`});
  const hint = make('p', {class: 'note', id: `${id}-note`}, note);
  const described = {'aria-describedby': `${id}-error ${id}-note`};
  const box = wide ? {class: 'wide'} : {};
  if (several) {
    const boxes = options.map(([value, text]) =>
      make('input', {type: 'checkbox', value, ...(attributes.chosen?.includes(value) && {checked: ''})}));
    const group = make('fieldset', {...box, ...described}, make('legend', {}, label),
      ...options.map(([, text], i) => make('label', {class: 'check'}, boxes[i], text)), hint, error);
    return {label, name, error, element: group, input: boxes[0], value: () => boxes.filter(({checked}) => checked).map(({value}) => value)};
  }
  if (attributes.type === 'checkbox') {
    const input = make('input', {id, name, ...described, ...attributes});
    return {label, name, error, input, element: make('div', box, make('label', {class: 'check'}, input, label), hint, error),
      value: () => input.checked};
  }
  const own = {id, name, ...described, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', ...attributes};
  const input = options
    ? make('select', {id, name, ...described}, ...options.map(([value, text]) =>
      make('option', {value, ...(value === attributes.value && {selected: ''})}, text)))
    : make('input', own);
  return {label, name, error, input, element: make('div', box, make('label', {for: id}, label), input, hint, error),
    value: () => (input.value === '' ? undefined : read(input.value))};
}

/** A field of a whole number; empty for none. */
export const numberField = (label, name, {value, ...others}) =>
  field(label, name, {type: 'number', step: '1', inputmode: 'numeric', read: Number, value: value ?? '', ...others});

const holds = (pointer, name) => pointer === `/${name}` || pointer.startsWith(`/${name}/`);

function showProblem(problem, fields, error) {
  const rest = [];
  for (const {pointer, detail} of problem.errors ?? []) {
    const found = fields.find(({name}) => holds(pointer, name));
    if (found) {
      found.error.textContent = /^[a-z]/.test(detail) ? `${found.label} ${detail}` : detail;
      found.input.setAttribute('aria-invalid', 'true');
    } else {
      rest.push(`${pointer}: ${detail}`);
    }
  }
  const wrong = fields.find(({error: {textContent}}) => textContent !== '');
  error.textContent = wrong && rest.length === 0 ? '' : [problem.message, ...rest].join(' ');
  wrong?.input.focus();
}

/**
 * A form. Its submission waits for the answer to the one before.
 *
 * @param send takes the values by the fields' names; a failed one shows its Problem, its errors beside the fields
 */
export function form(fields, action, send, {danger = false} = {}) {
  const error = make('p', {class: 'error', role: 'alert'});
  const element = make('form', {class: 'sheet'}, ...fields.map((one) => one.element), error,
    make('div', {}, make('button', {type: 'submit', class: danger ? 'danger' : 'primary'}, action)));
  let isBusy = false;
  element.addEventListener('submit', async (submit) => {
    submit.preventDefault();
    if (isBusy) {
      return;
    }
    isBusy = true;
    error.textContent = '';
    for (const one of fields) {
      one.error.textContent = '';
      one.input.removeAttribute('aria-invalid');
    }
    try {
      await send(Object.fromEntries(fields.map(({name, value}) => [name, value()])));
    } catch (problem) {
      showProblem(problem, fields, error);
    }
    isBusy = false;
  });
  return element;
}

/** A button for an operation. A failed one shows why, beside the button. */
export function act(label, operation, attributes = {}) {
  const error = make('span', {class: 'error', role: 'alert'});
  const run = async () => {
    error.textContent = '';
    try {
      await operation();
    } catch (problem) {
      error.textContent = problem.message;
    }
  };
  return make('span', {}, button(attributes, run, label), ' ', error);
}

/** Asks for a name before something that cannot be undone. @returns whether it was typed */
export function confirmName(title, text, name, action) {
  const wanted = line(name).trim();
  let isConfirmed = false;
  const compare = ({typed = ''}) => {
    if (typed.trim() !== wanted) {
      throw Object.assign(new Problem(0, ''), {errors: [{pointer: '/typed', detail: 'This is something else.'}]});
    }
    isConfirmed = true;
    dialog.close();
  };
  const dialog = make('dialog', {class: 'help', 'aria-labelledby': 'confirm-title'},
    make('h2', {id: 'confirm-title'}, title), make('p', {}, text),
    form([field(`Type “${wanted}”`, 'typed', {wide: true})], action, compare, {danger: true}),
    button({}, () => dialog.close(), 'Cancel'));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener('close', () => {
    dialog.remove();
    resolve(isConfirmed);
  }));
}

/** A list that is read by pages. @param none what an empty one says */
export async function listed(path, key, item, {signal, none}) {
  const list = make('ul', {class: 'cards'});
  let next = null;
  const read = async () => {
    const page = await askJson(`${path}${path.includes('?') ? '&' : '?'}limit=50${next === null ? '' : `&after=${next}`}`, {signal});
    list.append(...page[key].map(item));
    next = page.next;
    more.hidden = next === null;
  };
  const more = act('Load more', read);
  await read();
  return list.childElementCount === 0 ? [make('p', {class: 'note'}, none)] : [list, more];
}

export const LIMITS = [
  ['records_per_second', 'Records per second', 1, 1_000_000],
  ['bytes_per_second', 'Bytes per second', 1, 1_000_000_000],
  ['requests_per_second', 'Requests per second', 1, 1_000_000],
  ['streams', 'Open streams', 0, 1_000_000],
  ['exports', 'Running exports', 0, 1_000_000],
];

/** A form that sets all limits; an empty field removes one. */
export const limitsForm = (limits, action, send) => form(
  LIMITS.map(([name, label, min, max]) => numberField(label, name, {value: limits[name], min, max})), action, send);

/** Facts on one line; missing ones are left out. */
export const facts = (...texts) => make('p', {class: 'note'}, texts.filter(Boolean).join(' · '));
export const since = (label, time) => time && `${label} ${timeText(time)}`;
export const code = (text) => make('code', {class: 'value'}, line(text));
