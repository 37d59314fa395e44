// The projects that this tab may read: those that it was given a token for, and those that grants open to who has signed in. One of
// them is shown at a time. Tokens are where the one in use is, in the tab's own storage, and go with it.

import {FEED, Problem, ask, askJson, isSession, ofTab, project, setSession, setToken, token} from './api.js';
import {button, byId, icon, line, make} from './text.js';

const KEPT = 'annals.tokens';
const MAX_TOKENS = 20;
/** From how many projects on the list can be searched. */
const MANY = 8;
const READING = ['read', 'audit', 'admin'];

/** The id, the name and the token of each project that somebody gave a token for. */
let tokens = readTokens();
/** The id and the name of each project that is open to who has signed in; null until the service has said so. */
let granted = null;
/** What becomes of the page when somebody chooses a project. */
let chosen = () => {};

function readTokens() {
  try {
    return JSON.parse(ofTab.get(KEPT) ?? '[]').filter(({id, name, token: given}) => [id, name, given].every((text) => typeof text === 'string'));
  } catch {
    return [];
  }
}

function keep(wanted) {
  tokens = wanted;
  ofTab.set(KEPT, JSON.stringify(tokens));
  show();
}

/** All that are open, by their names. A token may do more than a sign-in, and goes before it. */
const open = () => [...tokens, ...(granted ?? []).filter(({id}) => !tokens.some((of) => of.id === id))]
  .sort((one, other) => one.name.localeCompare(other.name));

export const areSeveral = () => open().length > 1;
export const nameOf = (id) => open().find((of) => of.id === id)?.name ?? '';

/** Whether a project is open, or may be: the service has not said yet which ones are open to who has signed in. */
export const isOpen = (id) => open().some((of) => of.id === id) || (isSession() && granted === null);

/** Makes a project the one that is read. */
export function use(id) {
  const given = tokens.find((of) => of.id === id);
  given ? setToken(given.token, {id}) : setSession(id);
  show();
}

/**
 * Takes a token, if it may read, and makes its project the one that is read.
 *
 * @returns fails with a Problem
 */
export async function take(given) {
  if (!/^[!-~]+$/.test(given)) {
    throw new Problem(0, 'This is not a token: it has characters that no token has.');
  }
  await ask(`${FEED}?order=desc&limit=1`, {as: given});
  const {project: {id, name}} = await askJson('v1/whoami', {as: given});
  const others = tokens.filter((of) => of.id !== id);
  if (others.length >= MAX_TOKENS) {
    throw new Problem(0, `This tab has tokens of ${MAX_TOKENS} projects already: forget one first.`);
  }
  keep([...others, {id, name, token: given}]);
  use(id);
}

/** Takes the projects that are open to who has signed in, whoever that is now. @returns them */
export async function askGranted() {
  granted = (await askJson('v1/whoami/projects', {cookie: true})).projects
    .filter(({scopes}) => scopes.some((scope) => READING.includes(scope)));
  show();
  return granted;
}

/** Whether somebody has signed in with the provider. */
export const hasSession = () => isSession() || granted !== null;

/** What is in use opens nothing any longer. Other projects stay open, and are offered. */
export function drop() {
  if (isSession()) {
    granted = null;
  }
  const ended = token;
  setToken(null);
  keep(tokens.filter((of) => of.token !== ended));
}

/** Nothing is open any longer. */
export function end() {
  granted = null;
  setToken(null);
  keep([]);
  ofTab.remove(KEPT);
  byId('projects-dialog').close();
}

// ---- The page ------------------------------------------------------------------------------------------------------

/** Shows which project is read, and which others are open to somebody whose token has ended. */
export function show() {
  const name = token === null ? '' : line(nameOf(project));
  byId('project').hidden = name === '';
  byId('project-name').textContent = name;
  document.title = name === '' ? 'Annals' : `${name} · Annals`;
  byId('still-open').hidden = token !== null || open().length === 0;
  byId('still-open-list').replaceChildren(...open().map(({id, name: other}) =>
    make('li', {}, button({}, () => chosen(id), make('bdi', {}, line(other))))));
}

function drawList() {
  const wanted = byId('project-find').value.trim().toLowerCase();
  const found = open().filter(({name}) => name.toLowerCase().includes(wanted));
  byId('projects-none').hidden = found.length > 0;
  byId('projects-list').replaceChildren(...found.map(({id, name}) => make('li', {},
    button({class: 'choice', 'aria-current': id === project}, () => choose(id), make('bdi', {}, line(name))),
    ...(id !== project && tokens.some((of) => of.id === id)
      ? [button({class: 'icon', 'aria-label': `Forget the token of ${line(name)}`, title: 'Forget the token'}, () => forget(id),
        icon('m5.5 5.5 9 9m0-9-9 9'))]
      : []))));
  return found;
}

function choose(id) {
  byId('projects-dialog').close();
  if (id !== project) {
    chosen(id);
  }
}

function forget(id) {
  keep(tokens.filter((of) => of.id !== id));
  drawList();
  byId('projects-title').focus();
}

export function openDialog() {
  byId('project-find').value = '';
  byId('project-error').textContent = '';
  byId('find-project').hidden = open().length <= MANY;
  drawList();
  byId('projects-dialog').showModal();
  byId(byId('find-project').hidden ? 'projects-title' : 'project-find').focus();
}

function find(submit) {
  submit.preventDefault();
  const [first] = drawList();
  if (first) {
    choose(first.id);
  }
}

/** The arrow keys lead from one project to the next. */
function moved(event) {
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  const choices = [...byId('projects-list').querySelectorAll('.choice')];
  const next = choices[choices.indexOf(document.activeElement) + step];
  if (step && next) {
    event.preventDefault();
    next.focus();
  }
}

async function add(submit) {
  submit.preventDefault();
  const error = byId('project-error');
  error.textContent = '';
  const before = project;
  const was = tokens.find((of) => of.id === before)?.token;
  try {
    await take(byId('project-token').value.trim());
    byId('project-token').value = '';
    byId('projects-dialog').close();
    if (project !== before || token !== was) {
      chosen(project);
    }
  } catch (problem) {
    error.textContent = problem.message;
    byId('project-token').select();
  }
}

/** @param select shows a project */
export function begin(select) {
  chosen = select;
  byId('project').addEventListener('click', openDialog);
  byId('close-projects').addEventListener('click', () => byId('projects-dialog').close());
  byId('project-form').addEventListener('submit', add);
  byId('find-project').addEventListener('submit', find);
  byId('project-find').addEventListener('input', drawList);
  byId('projects-list').addEventListener('keydown', moved);
  show();
}
