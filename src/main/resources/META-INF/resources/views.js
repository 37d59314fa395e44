// Named views: addresses, stored in this browser.

import {ofBrowser} from './api.js';
import {button, byId, icon, line, make} from './text.js';

const KEPT = 'annals.views';
const MAX_VIEWS = 100;
export const MAX_NAME = 80;

/** Returns the address of what is shown, with the name of a view. */
let address = () => '';

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

function draw() {
  byId('views-list').replaceChildren(...kept().map(({name, hash}) => {
    const link = make('a', {href: hash}, make('bdi', {}, line(name)));
    link.addEventListener('click', () => byId('views-dialog').close());
    return make('li', {}, link, button({class: 'icon', 'aria-label': `Remove the view ${line(name)}`}, () => {
      keep(kept().filter((view) => view.name !== name));
      byId('views-title').focus();
    }, icon('m5.5 5.5 9 9m0-9-9 9')));
  }));
}

function add(submit) {
  submit.preventDefault();
  const name = byId('view-name').value.trim();
  const others = kept().filter((view) => view.name !== name);
  if (name === '' || others.length >= MAX_VIEWS) {
    byId('view-error').textContent = name === '' ? 'A view needs a name.' : `There are ${MAX_VIEWS} views already: remove one first.`;
    return;
  }
  const hash = address(name);
  keep([...others, {name, hash}]);
  location.hash = hash;
  byId('views-dialog').close();
}

export function begin(given) {
  address = given;
  byId('views').addEventListener('click', () => {
    byId('view-error').textContent = '';
    draw();
    byId('views-dialog').showModal();
    byId('views-title').focus();
  });
  byId('view-form').addEventListener('submit', add);
  byId('close-views').addEventListener('click', () => byId('views-dialog').close());
}
