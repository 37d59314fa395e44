// The state of the page, with the records that are loaded. Views watch the parts that they show, and draw when a part is set.
// This file knows neither the page's elements nor the service.

export const MAX_ROWS = 50_000;
/** The JSON of all loaded records together. */
export const MAX_CHARACTERS = 64 << 20;

export const state = {
  /** The project whose records are shown; null between two projects. */
  project: null,
  /** From the address: the filters, and the sequence id of the record at which to begin (null: begin with the newest record). */
  filters: {},
  target: null,
  /** From the address: the name of the view, and the columns. */
  view: null,
  wantedColumns: null,
  /** The id of the open record, and the record once it is read. */
  openId: null,
  record: null,
  /** The filters as the service is asked: a range that moves with the clock is part of the query. */
  asked: {},
  /** The words to highlight in messages. */
  words: [],
  /** The queries of the pages after the last row and before the first row; null at the ends of the feed. */
  ends: {older: null, newer: null},
  /** The part of the feed that the pages so far have searched: {from, through, indexed_through}; null without filters. */
  searched: null,
  /** The reading in progress: {end, pages, found}. */
  reading: null,
  live: 'connecting',
  paused: false,
  /** Whether the loaded records are shown by the time of their event, in place of the feed's order. */
  byTime: false,
  /** The number of records that arrived and are not shown. */
  missed: 0,
  /** Whether arrived records were dropped, so that only a new load shows the newest. */
  detached: false,
  problem: null,
};

// Parts that are set to tell of a change, and hold nothing: loaded, replaced, marked, around, columns, zone.

const watchers = [];

/** Calls a view with the changes whenever one of the named parts is set, even to an equal value. */
export function watch(names, draw) {
  watchers.push({names, draw});
}

export function set(changes) {
  Object.assign(state, changes);
  watchers.filter(({names}) => names.some((name) => Object.hasOwn(changes, name))).forEach(({draw}) => draw(changes));
}

// ---- The records that are loaded, newest first ---------------------------------------------------------------------

/** In the order of the feed. */
let list = [];
/** As shown, and the places of records there; null if they are to be sorted anew, or shown in the order of the feed. */
let sorted = null;
/** By id: the record, the length of its JSON, whether it has just been appended, and the result of its proof. */
const entries = new Map();
let characters = 0;
/** Whether a record was dropped because the limits were reached. */
let isFull = false;
/** Whether the last row is the first record of the feed. */
export let isComplete = false;

export const size = () => list.length;
export const room = () => (isFull ? 0 : MAX_ROWS - list.length);
/** The size of the loaded records as JSON, in MiB. */
export const mebibytes = () => characters / (1 << 20);
/** The ends of the loaded part of the feed, however it is sorted. */
export const newest = () => list[0];
export const oldest = () => list.at(-1);
export const recordAt = (index) => shown()[index];
export const recordsBetween = (start, end) => shown().slice(start, end);
export const recordOf = (id) => entries.get(id)?.record;
export const entryOf = (id) => entries.get(id);

/** Times are in UTC, with as many digits of the second as they need: without the Z their texts sort as they do. */
const eventTime = ({timestamp}) => timestamp.slice(0, -1);

function shown() {
  if (!state.byTime) {
    return list;
  }
  if (sorted === null) {
    // Stable: records of one time stay in the feed's order.
    const records = list.map((record) => [eventTime(record), record])
      .sort(([one], [other]) => (one < other ? 1 : one > other ? -1 : 0)).map(([, record]) => record);
    sorted = {records, places: new Map(records.map(({id}, index) => [id, index]))};
  }
  return sorted.records;
}

/** Shows the loaded records by the time of their event, or in the order of the feed. */
export function sortByTime(byTime) {
  sorted = null;
  set({byTime, loaded: {above: 0}});
}

/** The index of a record; -1 if it is not loaded. */
export function indexOf(id) {
  if (state.byTime) {
    shown();
    return sorted.places.get(id) ?? -1;
  }
  const record = recordOf(id);
  let [low, high] = [0, record === undefined ? -1 : list.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const difference = list[middle].sequence_id - record.sequence_id;
    if (difference === 0) {
      return middle;
    }
    [low, high] = difference > 0 ? [middle + 1, high] : [low, middle - 1];
  }
  return -1;
}

/** The index of a sequence id or of the next older one that is loaded; -1 if neither exists. */
export function nearest(sequenceId) {
  const index = list.findIndex((record) => record.sequence_id <= sequenceId);
  return index < 0 ? index : indexOf(list[index].id);
}

const lengthOf = (record) => JSON.stringify(record).length;

function addUnknown(found, isNew) {
  sorted = null;
  return found.filter((record) => {
    const isUnknown = !entries.has(record.id);
    if (isUnknown) {
      const length = lengthOf(record);
      entries.set(record.id, {record, length, isNew, mark: null});
      characters += length;
    }
    return isUnknown;
  });
}

/** Drops the oldest records beyond the limits. @returns whether any were dropped */
function trim() {
  const before = list.length;
  while (list.length > MAX_ROWS || (characters > MAX_CHARACTERS && list.length > 1)) {
    const {id} = list.pop();
    characters -= entries.get(id).length;
    entries.delete(id);
  }
  const dropped = list.length < before;
  isFull ||= dropped;
  isComplete &&= !dropped;
  return dropped;
}

/**
 * Adds older records, newest first, after the last row.
 *
 * @param complete whether no older ones exist
 * @returns how many were added above the rows in sight, if that is known, and whether the oldest were dropped
 */
export function addOlder(found, complete) {
  isComplete = complete;
  list.push(...addUnknown(found, false));
  return {above: 0, dropped: trim()};
}

/**
 * Adds newer records, oldest first, before the first row.
 *
 * @param isNew whether they have just been appended
 * @returns as addOlder
 */
export function addNewer(found, isNew) {
  const added = addUnknown(found, isNew).reverse();
  list = added.concat(list);
  return {above: state.byTime ? 0 : added.length, dropped: trim()};
}

/** Forgets all records. The caller sets `loaded`. */
export function clearRecords() {
  list = [];
  sorted = null;
  entries.clear();
  characters = 0;
  isFull = false;
  isComplete = false;
}

/** Replaces a loaded record by its redacted form. */
export function replaceRecord(record) {
  const entry = entries.get(record.id);
  if (entry) {
    list[list.findIndex(({id}) => id === record.id)] = record;
    sorted = null;
    entry.record = record;
    characters -= entry.length;
    entry.length = lengthOf(record);
    characters += entry.length;
    set({replaced: record.id});
  }
}

/** Marks a record with the result of its proof, unless another form of the record is loaded by now. */
export function markRecord(record, proof, text) {
  const entry = entries.get(record.id);
  if (entry && JSON.stringify(entry.record) === JSON.stringify(record)) {
    entry.mark = {state: proof, text};
    set({marked: record.id});
  }
}

export function clearMarks() {
  entries.forEach((entry) => (entry.mark = null));
  set({marked: null});
}
