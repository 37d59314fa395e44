// The names of recorders: the descriptions of tokens, and persons. A link shows ids, because its customer may not know the names.

import {askJson, isLink} from './api.js';
import {watch} from './store.js';
import {line, make} from './text.js';

/** As many as the service takes. */
const MAX_ASKED = 50;
const MAX_KNOWN = 2_000;
const GATHER_MS = 50;

let project = null;
/** By recorder: its name, or null if it has none or the service cannot tell. */
let known = new Map();
let wanted = new Set();

watch(['project'], ({project: shown}) => {
  if (shown !== project) {
    project = shown;
    known = new Map();
    wanted = new Set();
  }
});

export const nameOf = (recorder) => known.get(recorder) ?? recorder;

/** Reads the names of recorders that are not known yet. */
export async function readNames(recorders) {
  const into = known;
  const asked = isLink ? [] : [...new Set(recorders)].filter((one) => /^(?:token|identity):/.test(one) && !into.has(one));
  if (into.size > MAX_KNOWN) {
    into.clear();
  }
  for (let i = 0; i < asked.length; i += MAX_ASKED) {
    const some = asked.slice(i, i + MAX_ASKED);
    some.forEach((one) => into.set(one, null));
    try {
      const {recorders: found} = await askJson(`v1/recorders?${new URLSearchParams({recorded_by: some.join()})}`);
      found.forEach(({recorded_by: one, name}) => into.set(one, name));
    } catch {
      // Their ids remain.
    }
  }
}

async function readWanted() {
  const some = [...wanted];
  wanted.clear();
  await readNames(some);
  for (const element of document.querySelectorAll('[data-recorder]')) {
    const {recorder} = element.dataset;
    element.textContent = line(nameOf(recorder));
    element.toggleAttribute('data-named', nameOf(recorder) !== recorder);
  }
}

/** The name of a recorder, which is its id until the service has told the name. */
export function recorderName(recorder) {
  if (!known.has(recorder)) {
    wanted.size === 0 && setTimeout(readWanted, GATHER_MS);
    wanted.add(recorder);
  }
  return make('bdi', {'data-recorder': recorder, title: line(recorder), ...(known.get(recorder) && {'data-named': ''})}, line(nameOf(recorder)));
}
