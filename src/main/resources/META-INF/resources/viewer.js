// The viewer of a project's records: a client of the public API and nothing more. This file has the page's events.
//
// store.js has the state, and the views draw from it: rows.js, filters.js, status.js, detail.js. feed.js reads the records, session.js
// signs in and out, address.js turns the state into the address and back.

import {Problem, isLink, ofBrowser, project, takeLink, token} from './api.js';
import {begin as beginAddress, currentAddress, readAddress, sameFilters, savedAddress, viewAddress, viewContent} from './address.js';
import {forgetChart} from './chart.js';
import * as columns from './columns.js';
import {closeDetail, detail, openDetail, step, verifyAll, verifyInSight} from './detail.js';
import {endFacets} from './facets.js';
import {MAX_PAGE_SIZE, goOn, load, readOn, scrolled, showArrived, stop, toNewest, togglePause} from './feed.js';
import {applyFilters, form, toggleFilters} from './filters.js';
import {showLook} from './look.js';
import * as projects from './projects.js';
import * as rows from './rows.js';
import * as session from './session.js';
import * as share from './share.js';
import {drawForPrint} from './status.js';
import {markRecord, newest, set, size, sortByTime, state, watch} from './store.js';
import * as streams from './streams.js';
import {byId} from './text.js';
import {isLocal, setLocal, zoneName} from './times.js';
import * as verify from './verify.js';
import {begin as beginViews} from './views.js';

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

// ---- The address ---------------------------------------------------------------------------------------------------

/** Makes the page show what the address says. */
function route(anew = false) {
  const wanted = readAddress();
  const isElsewhere = token !== null && wanted.project !== null && wanted.project !== project;
  if (isElsewhere && ID.test(wanted.project) && projects.isOpen(wanted.project)) {
    projects.use(wanted.project);
    session.endProject();
    start();
    return;
  }
  if (isElsewhere) {
    // These belong to the project that is not open.
    wanted.target = null;
    wanted.record = null;
  }
  const {filters, target, view, wantedColumns} = wanted;
  const isOther = anew || !sameFilters(filters) || target !== state.target;
  const redraw = columns.take(wantedColumns);
  set({project, view, wantedColumns, target, ...(isOther && {filters})});
  if (!token) {
    return;
  }
  if (redraw || anew) {
    set({columns: columns.columns});
  }
  if (isOther) {
    load();
  }
  openDetail(wanted.record);
  if (isElsewhere) {
    session.fail(new Problem(
      0, 'This address is of another project, which is not open in this tab. Open it under “Projects”, with a token of it.'));
  }
}

/** Shows what the address says, and verifies the log's newest checkpoint. */
function start() {
  session.showSignIn();
  projects.show();
  route(true);
  if (token) {
    showLook();
    streams.begin();
  }
  if (token && !isLink) {
    verify.begin().then(verifyAll);
  }
}

watch(['project'], ({project: shown}) => {
  if (shown === null) {
    verify.end();
    streams.end();
    share.end();
    endFacets();
    forgetChart();
  }
});

// ---- Keys ----------------------------------------------------------------------------------------------------------

const SINGLE_KEYS = {
  j: () => step(1),
  k: () => step(-1),
  p: togglePause,
  g: toNewest,
  o: () => !byId('project').hidden && projects.openDialog(),
  '/': () => form.elements.q.focus(),
  '?': () => byId('help').showModal(),
};

function pressed(event) {
  if (!token || event.ctrlKey || event.metaKey || event.altKey || event.isComposing
    || document.querySelector('dialog:modal:not(#detail), :popover-open')) {
    return;
  }
  const writes = event.target.closest('input:not([type="checkbox"])');
  if (event.key === 'Escape' && (detail.open || writes)) {
    event.preventDefault();
    detail.open ? closeDetail() : writes.blur();
  } else if (event.target.closest('#rows') && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
    event.preventDefault();
    step(event.key === 'ArrowDown' ? 1 : -1);
  } else if (!writes && byId('single-keys').checked && Object.hasOwn(SINGLE_KEYS, event.key)) {
    event.preventDefault();
    SINGLE_KEYS[event.key]();
  }
}

// ---- Light and dark, and the zone of times -------------------------------------------------------------------------

const systemDark = matchMedia('(prefers-color-scheme: dark)');

function showTheme() {
  const theme = ofBrowser.get('annals.theme') ?? (systemDark.matches ? 'dark' : 'light');
  document.documentElement.dataset.theme = theme;
  byId('theme').setAttribute('aria-label', theme === 'dark' ? 'Light colours' : 'Dark colours');
}

function toggleTheme() {
  const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  if ((theme === 'dark') === systemDark.matches) {
    ofBrowser.remove('annals.theme');
  } else {
    ofBrowser.set('annals.theme', theme);
  }
  showTheme();
}

/** Shows all times in the other zone. */
function toggleZone() {
  setLocal(!isLocal);
  set({zone: zoneName()});
}

// ---- Events --------------------------------------------------------------------------------------------------------

/** A click anywhere in a row opens its record. */
function openRow(event) {
  const link = event.target.closest('tr')?.querySelector('a');
  if (link && !event.target.closest('a') && getSelection().isCollapsed) {
    link.click();
  }
}

function reload() {
  byId('records-title').focus({preventScroll: true});
  load();
}

/** Columns that the reader has chosen are kept in the browser, and no longer named by the address. */
function columnsChosen() {
  set({wantedColumns: null});
  history.replaceState(null, '', currentAddress(null));
  set({view: null, columns: columns.columns});
}

const on = (id, handler, type = 'click') => byId(id).addEventListener(type, handler);

on('sign-in-form', session.signIn, 'submit');
on('sign-out', () => session.signOut());
on('provider-sign-in', session.leaveForProvider);
on('filters', applyFilters, 'submit');
on('more-filters', toggleFilters);
on('rows', openRow);
on('older', () => readOn('older'));
on('newer', () => readOn('newer'));
on('go-on', goOn);
on('stop-newer', stop);
on('stop', stop);
on('reload', reload);
on('newest', toNewest);
on('live', togglePause);
on('theme', toggleTheme);
on('order', () => sortByTime(!state.byTime));
on('zone', toggleZone);
on('streams-state', streams.open);
on('administration', streams.administer);
on('close-streams', () => byId('streams').close());
on('show-help', () => byId('help').showModal());
on('close-detail', closeDetail);
on('detail', closeDetail, 'cancel');
on('newer-record', () => step(-1));
on('older-record', () => step(1));
on('single-keys', ({target}) => ofBrowser.set('annals.single-keys', target.checked), 'change');
addEventListener('keydown', pressed);
addEventListener('popstate', () => (takeLink() ? start() : route()));
addEventListener('scroll', scrolled, {passive: true});
document.addEventListener('visibilitychange', showArrived);
addEventListener('beforeprint', drawForPrint);
addEventListener('afterprint', rows.redrawAll);
systemDark.addEventListener('change', showTheme);

byId('single-keys').checked = ofBrowser.get('annals.single-keys') !== 'false';
beginAddress(route);
session.begin(start);
rows.begin(verifyInSight);
columns.begin(columnsChosen);
share.begin(() => ({
  filters: state.filters,
  asked: state.asked,
  target: state.target,
  parameters: {
    order: 'desc',
    limit: Math.min(MAX_PAGE_SIZE, Math.max(1, size())),
    ...(state.ends.newer !== null && size() > 0 && {cursor: newest().sequence_id + 1}),
  },
}));
beginViews({current: viewAddress, saved: savedAddress, content: viewContent});
verify.listen({changed: verifyAll, marked: markRecord});
showTheme();
set({live: state.live});
takeLink();
start();
if (!isLink) {
  session.enter();
}
