// The address: its fragment holds the filters, the view, the columns, the open record and the project.

import {isLink, project} from './api.js';
import * as columns from './columns.js';
import * as projects from './projects.js';
import {state} from './store.js';
import {LAST} from './times.js';
import {MAX_NAME} from './views.js';

/** The filters' names in the API and in the page; `last` is the page's own, and becomes part of the query. */
export const LABELS = {
  q: 'Search', action: 'Action', actor: 'Actor', subject: 'Subject', outcome: 'Outcome', ip_address: 'IP address',
  recorded_by: 'Recorded by', start: 'From', end: 'Until', last: 'Time',
};
export const FILTERS = Object.keys(LABELS);

export const wide = matchMedia('(min-width: 60rem)');

/** The id of a record if a click may keep it open. A narrow window shows a record in place of the rows, so nothing stays open there. */
export const ifWide = (id) => (wide.matches ? id : null);

export const sameFilters = (others) => FILTERS.every((name) => state.filters[name] === others[name]);

export function address(filters, recordId = null, target = null, view = sameFilters(filters) ? state.view : null) {
  const parameters = new URLSearchParams(filters);
  const others = {
    columns: state.wantedColumns, view, at: target, record: recordId, project: projects.areSeveral() ? state.project : null,
  };
  Object.entries(others).filter(([, value]) => value).forEach(([key, value]) => parameters.set(key, value));
  return `#${parameters}`;
}

/** The address of what is shown now. */
export const currentAddress = (view) => address(state.filters, state.openId, state.target, view);

/** The address of a record, for a reader who may have other projects open. */
export function linkTo(record) {
  const parameters = new URLSearchParams({record: record.id, ...(project !== null && {project})});
  return new URL(`#${parameters}`, location.href).href;
}

/** The address of the current filters and columns as a named view. */
export function viewAddress(name) {
  const parameters = new URLSearchParams(state.filters);
  parameters.set('columns', columns.columns.join());
  parameters.set('view', name);
  return `#${parameters}`;
}

/** The filters and columns that are shown, for a saved view. */
export function viewContent() {
  const {last, ...filter} = state.filters;
  return {filter, ...(last !== undefined && {last}), columns: columns.columns};
}

/** The address of a saved view. */
export function savedAddress({name, filter, last, columns: wanted}) {
  const parameters = new URLSearchParams(filter);
  Object.entries({last, columns: wanted?.join(), view: name}).filter(([, value]) => value).forEach(([key, value]) => parameters.set(key, value));
  return `#${parameters}`;
}

/** Reads the address. Values that the page could not have written are left out. */
export function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const filters = Object.fromEntries(FILTERS.map((name) => [name, parameters.get(name)]).filter(([, value]) => value));
  if (filters.last !== undefined && (!LAST.test(filters.last) || filters.start !== undefined || filters.end !== undefined)) {
    delete filters.last;
  }
  const at = parameters.get('at') ?? '';
  return {
    filters,
    target: /^[1-9][0-9]{0,15}$/.test(at) ? Number(at) : null,
    view: parameters.get('view')?.slice(0, MAX_NAME) ?? null,
    wantedColumns: parameters.get('columns'),
    record: parameters.get('record'),
    project: isLink ? null : parameters.get('project'),
  };
}

let changed = () => {};

/** @param route makes the page show what the address says */
export function begin(route) {
  changed = route;
}

/** Goes to other filters, or to another record. */
export function go(filters, recordId = null, {replace = false, at = null} = {}) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address(filters, recordId, at));
  changed();
}
