// The project's catalogue of actions: their titles and descriptions. A link shows names alone, because it may not read the catalogue.

import {askJson, isLink} from './api.js';
import {watch} from './store.js';
import {line, make} from './text.js';

let project = null;
let asked = null;

watch(['project'], ({project: shown}) => {
  if (shown !== project) {
    project = shown;
    asked = null;
  }
});

/** The entries by name; none without a catalogue, or if it cannot be read. */
const entries = () => (asked ??= (isLink ? Promise.resolve({actions: []}) : askJson('v1/actions'))
  .then(({actions}) => new Map(actions.map((action) => [action.name, action])), () => new Map()));

/** What the catalogue says about an action. It is empty until the service has told it. */
export function meaningOf(name) {
  const place = make('span', {class: 'dim meaning'});
  entries().then((known) => {
    const {title, description} = known.get(name) ?? {};
    place.textContent = line([title, description].filter(Boolean).join(': '));
  });
  return place;
}
