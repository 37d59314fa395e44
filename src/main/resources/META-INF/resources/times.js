// Times in UTC or in the browser's zone, as the reader chooses, with the zone beside them.

import {ofBrowser} from './api.js';

const ZONE = 'annals.zone';
const HERE = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const TIME = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d)?)(\.\d+)?(Z|z|[+ -]\d\d:\d\d)?)?$/;
const RELATIVE = new Intl.RelativeTimeFormat('en', {numeric: 'auto'});
const UNITS = [['year', 365.25 * 86_400], ['month', 30.44 * 86_400], ['day', 86_400], ['hour', 3_600], ['minute', 60]];

export let isLocal = ofBrowser.get(ZONE) === 'local';

export function setLocal(local) {
  isLocal = local;
  ofBrowser.set(ZONE, local ? 'local' : 'utc');
}

/** The name of the zone. */
export const zoneName = () => (isLocal ? HERE : 'UTC');

const pad = (number, digits = 2) => String(Math.abs(number)).padStart(digits, '0');

/** The milliseconds of a time of the API or the address; NaN if it is no time. */
export function momentOf(text) {
  const [, date, time = '00:00', fraction = '', zone = 'Z'] = TIME.exec(text) ?? [];
  const isLeap = time.endsWith(':60');
  const second = isLeap ? time.slice(0, -2) + '59' : time.padEnd(8, ':00');
  return Date.parse(`${date}T${second}${fraction.slice(0, 4)}${zone.toUpperCase().replace(' ', '+')}`) + (isLeap ? 1_000 : 0);
}

/** A time in the chosen zone: date, time of day, fraction of a second, and zone. Null if the text is no time. */
export function partsOf(text) {
  const milliseconds = momentOf(text);
  if (isNaN(milliseconds)) {
    return null;
  }
  const moment = new Date(milliseconds);
  const fraction = TIME.exec(text)[3] ?? '';
  if (!isLocal) {
    const iso = moment.toISOString();
    return {date: iso.slice(0, -14), time: iso.slice(-13, -5), fraction, zone: 'UTC'};
  }
  const offset = -moment.getTimezoneOffset();
  return {
    date: `${pad(moment.getFullYear(), 4)}-${pad(moment.getMonth() + 1)}-${pad(moment.getDate())}`,
    time: `${pad(moment.getHours())}:${pad(moment.getMinutes())}:${pad(moment.getSeconds())}`,
    fraction,
    zone: `${offset < 0 ? '−' : '+'}${pad(Math.trunc(offset / 60))}:${pad(offset % 60)}`,
  };
}

/** A time in full. Other texts stay unchanged. */
export function timeText(text) {
  const parts = partsOf(text);
  return parts === null ? text : `${parts.date} ${parts.time}${parts.fraction} ${parts.zone}`;
}

/** A record is of the future if its time is further ahead; `last:` reaches as far. */
const AHEAD_MS = 60_000;

/** Whether a record is of the future. Its recording counts in place of now if this browser's clock is behind. */
export const isAhead = ({timestamp, recorded_at: recorded}, now = Date.now()) =>
  momentOf(timestamp) > Math.max(now, momentOf(recorded) || 0) + AHEAD_MS;

/** The distance of a time from now. */
export function relativeText(text, now = Date.now()) {
  const seconds = (momentOf(text) - now) / 1000;
  const [unit, length] = UNITS.find(([, least]) => Math.abs(seconds) >= least) ?? ['second', 1];
  return isNaN(seconds) ? '' : RELATIVE.format(Math.trunc(seconds / length), unit);
}

/** A time of the address for a form field: in the chosen zone, without its name. */
export function fieldTime(text) {
  const parts = partsOf(text);
  return parts === null ? '' : `${parts.date}T${parts.time}${parts.fraction.slice(0, 4)}`;
}

/** A time from a form field for the address: in UTC. */
export function timeOfField(text) {
  if (!isLocal || text === '') {
    return text && `${text}Z`;
  }
  const moment = new Date(text);
  return isNaN(moment) ? '' : moment.toISOString().replace('.000Z', 'Z');
}

// ---- Ranges that move on with the clock ----------------------------------------------------------------------------

export const PRESETS = {
  '15m': 'Last 15 minutes', '1h': 'Last hour', '24h': 'Last 24 hours', '7d': 'Last 7 days', '30d': 'Last 30 days', '90d': 'Last 90 days',
};
const SECONDS = {s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800};
const NAMES = {s: 'seconds', m: 'minutes', h: 'hours', d: 'days', w: 'weeks'};
export const LAST = /^([1-9]\d{0,4})([smhdw])$/;

export function lastText(last) {
  const [, length, unit] = LAST.exec(last);
  return PRESETS[last] ?? `Last ${length} ${NAMES[unit]}`;
}

/** The start of such a range now. */
export function startOf(last, now = Date.now()) {
  const [, length, unit] = LAST.exec(last);
  return new Date(Math.max(momentOf('0001-01-01'), now - length * SECONDS[unit] * 1000)).toISOString();
}
