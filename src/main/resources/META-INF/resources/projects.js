// The projects that this tab may read: those with a token, and those that the session of the provider is granted. One of them is shown
// at a time. All tokens are in the tab's session storage, and end with the tab.

import {FEED, Problem, ask, askJson, isSession, ofTab, project, setSession, setToken, token} from './api.js';
import {button, byId, icon, line, make} from './text.js';

const KEPT = 'annals.tokens';
const MAX_TOKENS = 20;
/** With more projects, the list can be searched. */
const MANY = 8;
const READING = ['read', 'audit', 'admin'];

/** Of each project with a token: its id and name, the token, and the token's description and scopes. */
let tokens = readTokens();
/** The id and name of each project that is granted to the session; null until the service has answered. */
let granted = null;
/** The name of the person with the session. */
let person = '';
/** Shows a chosen project. */
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

/** All open projects, ordered by name. A token precedes a grant, because it may permit more. */
const open = () => [...tokens, ...(granted ?? []).filter(({id}) => !tokens.some((of) => of.id === id))]
  .sort((one, other) => one.name.localeCompare(other.name));

export const areSeveral = () => open().length > 1;
export const nameOf = (id) => open().find((of) => of.id === id)?.name ?? '';

/** Whether a project is open, or may be granted to a session about which the service has not answered yet. */
export const isOpen = (id) => open().some((of) => of.id === id) || (isSession() && granted === null);

/** Whether the reader may save views for the project. A session only reads. */
export const maySave = () => ['stream', 'admin'].some((scope) => tokens.find((of) => of.token === token)?.scopes?.includes(scope));

/** Makes a project the current one. */
export function use(id) {
  const given = tokens.find((of) => of.id === id);
  given ? setToken(given.token, {id}) : setSession(id);
  show();
}

/**
 * Adds a token that may read, and makes its project the current one.
 *
 * @returns fails with a Problem
 */
export async function take(given) {
  if (!/^[!-~]+$/.test(given)) {
    throw new Problem(0, 'This is not a token: it has characters that no token has.');
  }
  await ask(`${FEED}?order=desc&limit=1`, {as: given});
  const {project: {id, name}, description, scopes} = await askJson('v1/whoami', {as: given});
  const others = tokens.filter((of) => of.id !== id);
  if (others.length >= MAX_TOKENS) {
    throw new Problem(0, `This tab has tokens of ${MAX_TOKENS} projects already: forget one first.`);
  }
  keep([...others, {id, name, token: given, description, scopes}]);
  use(id);
}

/** Reads the projects that are granted to the session. @returns them */
export async function askGranted() {
  granted = (await askJson('v1/whoami/projects', {cookie: true})).projects
    .filter(({scopes}) => scopes.some((scope) => READING.includes(scope)));
  show();
  return granted;
}

/** Names the person who has signed in with the provider. */
export function setPerson({name, email, subject}) {
  person = name ?? email ?? subject;
  show();
}

/** Whether there is a session of the provider. */
export const hasSession = () => isSession() || granted !== null;

/** Forgets the current token or session, which has ended. Other projects stay open. */
export function drop() {
  if (isSession()) {
    granted = null;
  }
  const ended = token;
  setToken(null);
  keep(tokens.filter((of) => of.token !== ended));
}

/** Forgets all tokens and the session. */
export function end() {
  granted = null;
  setToken(null);
  keep([]);
  ofTab.remove(KEPT);
  byId('projects-dialog').close();
}

// ---- The page ------------------------------------------------------------------------------------------------------

/** Shows the current project or, without a token, the projects that are still open. */
export function show() {
  const name = token === null ? '' : line(nameOf(project));
  byId('project').hidden = name === '';
  byId('project-name').textContent = name;
  const who = line((isSession() ? person : tokens.find((of) => of.token === token)?.description) ?? '');
  byId('who').hidden = who === '' || token === null;
  byId('who').title = who;
  byId('who-name').textContent = who;
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

/** Arrow keys move between the projects. */
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
