// Alerts of the token's project: list, make, change, test and delete.

import {FEED, Problem, ask, askJson} from './api.js';
import {act, confirmName, facts, field, form, numberField, since} from './admin-form.js';
import {count, line, make, records} from './text.js';
import {momentOf} from './times.js';

const PATH = 'v1/alerts';
const STATES = {active: 'Counting', failing: 'Trying again', disabled: 'Off', closed: 'The project is closed'};
const MINUTE = 60;
const HOUR = 3_600;
/** Minutes or hours: facets have at most 1,000 intervals. */
const BACK = 720;

const times = (n) => (n === 1 ? 'once' : `${count.format(n)} times`);
const pathOf = (name) => `${PATH}/${encodeURIComponent(name)}`;

const fieldsOf = (alert) => [
  field('Records that match', 'q', {value: alert?.q ?? '', required: '', maxlength: 1024, wide: true, placeholder: 'outcome:denied'}),
  numberField('More than', 'threshold', {value: alert?.threshold ?? 0, required: '', min: 0, max: 1_000_000_000}),
  numberField('In seconds', 'interval_seconds', {value: alert?.interval_seconds ?? 300, required: '', min: MINUTE, max: 24 * HOUR}),
  field('On', 'enabled', {type: 'checkbox', ...((alert?.enabled ?? true) && {checked: ''})}),
];

/**
 * Counts the intervals in which recent records would have raised an alert. An alert counts by the time when the service took a record;
 * facets know the time of the event alone, in minutes or hours.
 */
async function tried({q, threshold, interval_seconds: seconds}, signal) {
  const [unit, length] = seconds % HOUR === 0 ? ['hour', HOUR] : ['minute', MINUTE];
  const start = new Date(Date.now() - BACK * length * 1000).toISOString();
  const {intervals, total, complete} = await askJson(`${FEED}/facets?${new URLSearchParams({q, start, interval: unit, top: 1})}`, {signal});
  const counts = new Map();
  for (const {start: begin, count: some} of intervals) {
    const index = Math.floor(momentOf(begin) / 1000 / seconds);
    counts.set(index, (counts.get(index) ?? 0) + Number(some));
  }
  const most = Math.max(0, ...counts.values());
  const raised = [...counts.values()].filter((some) => some > threshold).length;
  return `In the last ${count.format(BACK)} ${unit}s ${complete ? '' : 'at least '}${records(Number(total))} match, `
    + `at most ${count.format(most)} in one interval. It would have been raised ${times(raised)}.`;
}

/** A button that tries what the fields say. */
function tryButton(values, signal) {
  const answer = make('p', {role: 'status'});
  return make('div', {}, act('Try it on recent records', async () => {
    answer.textContent = '';
    answer.textContent = await tried(values, signal);
  }), answer);
}

function item(alert, {signal, done}) {
  const change = async (body) => {
    await askJson(pathOf(alert.name), {method: 'PUT', body});
    await done('The alert is changed.');
  };
  const remove = async () => {
    if (await confirmName('Delete the alert?', 'The events that it has left stay.', alert.name, 'Delete the alert')) {
      await ask(pathOf(alert.name), {method: 'DELETE'});
      await done('The alert is deleted.');
    }
  };
  return make('li', {'data-state': alert.state},
    make('h3', {}, make('bdi', {}, line(alert.name)), make('span', {class: 'state'}, STATES[alert.state])),
    make('p', {}, 'More than ', count.format(Number(alert.threshold)), ' in ', count.format(alert.interval_seconds), ' seconds: ',
      make('code', {class: 'value'}, line(alert.q))),
    facts(`raised ${times(Number(alert.raised))}`, since('last for', alert.raised_window),
      `${records(Number(alert.lag))} behind`),
    ...(alert.state === 'failing' ? [make('p', {class: 'error'}, line(alert.last_error ?? ''))] : []),
    tryButton(alert, signal),
    make('details', {}, make('summary', {}, 'Change or delete'),
      form(fieldsOf(alert), 'Change the alert', change),
      make('div', {class: 'acting'}, act('Delete …', remove, {class: 'danger'}))));
}

export async function show(page) {
  const {alerts} = await askJson(PATH, {signal: page.signal});
  const set = async ({name, ...body}) => {
    if (alerts.some((alert) => alert.name === name)) {
      throw Object.assign(new Problem(0, ''), {errors: [{pointer: '/name', detail: 'An alert with this name exists.'}]});
    }
    await askJson(pathOf(name), {method: 'PUT', body});
    await page.done('The alert counts from now on.');
  };
  return {
    nodes: [
      make('h2', {}, 'All alerts'),
      ...(alerts.length === 0
        ? [make('p', {class: 'note'}, 'None.')]
        : [make('ul', {class: 'cards'}, ...alerts.map((alert) => item(alert, page)))]),
      make('h2', {}, 'Make an alert'),
      form([
        field('Name', 'name', {required: '', maxlength: 128, pattern: '[A-Za-z0-9._\\-]+', title: 'Letters, digits, . _ -', wide: true}),
        ...fieldsOf(null),
      ], 'Make the alert', set),
    ],
  };
}
