// Administration in the browser: a client of the API for callers who may administer. Each area is a module of its own, which is loaded
// when it is opened; admin-form.js has their common parts.

import {askJson, isLink, ofBrowser, portal, takeLink, token} from './api.js';
import {mayStream, showStreamsLook} from './look.js';
import {copyButton} from './record.js';
import {byId, line, make} from './text.js';

const AREAS = {
  projects: {title: 'Projects', scopes: ['admin'], load: () => import('./admin-projects.js')},
  streams: {title: 'Streams', scopes: ['stream', 'admin', 'deliver'], load: () => import('./admin-streams.js')},
  alerts: {title: 'Alerts', scopes: ['stream', 'admin'], load: () => import('./admin-alerts.js')},
};

/** The project, scopes and id of the token; null until the service has answered. */
let caller = null;
/** Ends with the area that is shown. */
let visit = new AbortController();

/** The parts of the address: the area, and what of it is shown. */
function parts() {
  try {
    return location.hash.slice(1).split('/').map(decodeURIComponent);
  } catch {
    return [''];
  }
}

function drawAreas(current) {
  const open = Object.entries(AREAS).filter(([, {scopes}]) => caller?.scopes.some((scope) => scopes.includes(scope)));
  byId('areas').replaceChildren(...open.map(([name, {title}]) =>
    make('a', {href: `#${name}`, ...(name === current && {'aria-current': 'page'})}, title)));
  return open.map(([name]) => name);
}

async function findCaller(signal) {
  if (isLink) {
    await showStreamsLook();
    return {scopes: await mayStream() ? ['deliver'] : []};
  }
  const found = await askJson('v1/whoami', {signal});
  byId('caller').textContent = `With a token of the project ${line(found.project.name)}`;
  return found;
}

/** Shows what the address says. */
async function draw() {
  visit.abort();
  visit = new AbortController();
  const {signal} = visit;
  try {
    caller ??= await findCaller(signal);
    let [name, ...path] = parts();
    const open = drawAreas(name);
    if (!Object.hasOwn(AREAS, name)) {
      [name] = open;
      path = [];
      drawAreas(name);
    }
    if (name === undefined) {
      throw new Error('This token may not administer. It needs the scope “admin”, or “stream” for streams and alerts.');
    }
    const {show} = await AREAS[name].load();
    const {title = AREAS[name].title, nodes} = await show({path, signal, caller, done, showToken});
    if (!signal.aborted) {
      byId('title').textContent = title;
      document.title = isLink ? title : `${title} · Annals`;
      byId('area').replaceChildren(...nodes);
    }
  } catch (problem) {
    if (!signal.aborted) {
      byId('area').replaceChildren();
      byId('problem').textContent = problem.message;
    }
  }
}

/** Shows another area. A token that was shown is gone. */
async function route() {
  hideToken();
  byId('done').textContent = '';
  byId('problem').textContent = '';
  byId('title').textContent = AREAS[parts()[0]]?.title ?? 'Administration';
  byId('area').replaceChildren();
  byId('title').focus();
  await draw();
}

/** Shows an area anew after a change, and says what was done. */
async function done(text) {
  hideToken();
  byId('problem').textContent = '';
  await draw();
  byId('done').textContent = text;
  byId('title').focus();
}

/** Shows a new token until the reader leaves. It is in the page alone: not in the address, and not in the browser's storage. */
function showToken(text) {
  byId('secret-text').textContent = text;
  byId('secret-copy').replaceChildren(copyButton('Copy', text));
  byId('secret').hidden = false;
  byId('secret-title').focus();
}

function hideToken() {
  byId('secret').hidden = true;
  byId('secret-text').textContent = '';
  byId('secret-copy').replaceChildren();
}

const theme = ofBrowser.get('annals.theme');
if (theme !== null) {
  document.documentElement.dataset.theme = theme;
}
addEventListener('hashchange', route);
// The browser may keep the page to come back to.
addEventListener('pagehide', hideToken);
byId('records').addEventListener('click', (click) => {
  if (portal !== null) {
    click.preventDefault();
    location.assign(`./?project=${portal}#token=${token}`);
  }
});
if (portal !== null) {
  takeLink();
}
if (token === null && portal !== null) {
  byId('problem').append('This link has ended. Open it again where you found it.');
} else if (token === null) {
  byId('problem').append('Sign in under ', make('a', {href: './'}, 'Records'), ' first, in this tab.');
} else {
  draw();
}
