// Named views: those that the project shares are at the service, the reader's own in this browser.

import {ask, askJson, isLink, ofBrowser} from './api.js';
import * as projects from './projects.js';
import {watch} from './store.js';
import {button, byId, icon, line, make} from './text.js';

const KEPT = 'annals.views';
const MAX_VIEWS = 100;
export const MAX_NAME = 80;

/** Returns the address of what is shown with the name of a view, and that of a saved view. */
let addresses = {};
/** The views that the project shares. */
let shared = [];

watch(['project'], ({project}) => {
  if (project === null) {
    shared = [];
    byId('views-dialog').close();
  }
});

function kept() {
  try {
    const views = JSON.parse(ofBrowser.get(KEPT) ?? '[]');
    return views.filter(({name, hash}) => typeof name === 'string' && /^#/.test(hash)).slice(0, MAX_VIEWS);
  } catch {
    return [];
  }
}

function keep(views) {
  ofBrowser.set(KEPT, JSON.stringify(views.sort((one, other) => one.name.localeCompare(other.name))));
  draw();
}

const tell = (text) => (byId('view-error').textContent = text);

function item(name, hash, remove) {
  const link = make('a', {href: hash}, make('bdi', {}, line(name)));
  link.addEventListener('click', () => byId('views-dialog').close());
  return make('li', {}, link, ...(remove === null ? [] : [
    button({class: 'icon', 'aria-label': `Remove the view ${line(name)}`}, remove, icon('m5.5 5.5 9 9m0-9-9 9'))]));
}

function draw() {
  byId('views-shared').hidden = isLink;
  byId('share-view').closest('label').hidden = !projects.maySave();
  byId('shared-list').replaceChildren(...shared.map((view) =>
    item(view.name, addresses.saved(view), projects.maySave() ? () => removeShared(view.name) : null)));
  byId('views-list').replaceChildren(...kept().map(({name, hash}) => item(name, hash, () => {
    keep(kept().filter((view) => view.name !== name));
    byId('views-title').focus();
  })));
}

async function readShared() {
  if (!isLink) {
    const {views} = await askJson('v1/views');
    shared = views;
    draw();
  }
}

const pathOf = (name) => `v1/views/${encodeURIComponent(name)}`;

async function removeShared(name) {
  byId('views-title').focus();
  try {
    await ask(pathOf(name), {method: 'DELETE'});
    await readShared();
  } catch (problem) {
    tell(problem.message);
  }
}

async function share(name) {
  try {
    await ask(pathOf(name), {method: 'PUT', body: addresses.content()});
    return true;
  } catch (problem) {
    tell(problem.message);
    return false;
  }
}

function keepHere(name) {
  const others = kept().filter((view) => view.name !== name);
  if (others.length >= MAX_VIEWS) {
    tell(`There are ${MAX_VIEWS} views already: remove one first.`);
    return false;
  }
  keep([...others, {name, hash: addresses.current(name)}]);
  return true;
}

async function add(submit) {
  submit.preventDefault();
  const name = byId('view-name').value.trim();
  if (name === '') {
    tell('A view needs a name.');
  } else if (projects.maySave() && byId('share-view').checked ? await share(name) : keepHere(name)) {
    location.hash = addresses.current(name);
    byId('views-dialog').close();
  }
}

/** @param given current(name) and saved(view) return addresses, content() what is shown for the service */
export function begin(given) {
  addresses = given;
  byId('views').addEventListener('click', () => {
    tell('');
    draw();
    byId('views-dialog').showModal();
    byId('views-title').focus();
    readShared().catch((problem) => tell(problem.message));
  });
  byId('view-form').addEventListener('submit', add);
  byId('close-views').addEventListener('click', () => byId('views-dialog').close());
}
