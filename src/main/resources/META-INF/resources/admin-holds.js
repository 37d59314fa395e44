// Legal holds of a project: list, set and lift.

import {askJson} from './api.js';
import {facts, field, form, listed, since} from './admin-form.js';
import {line, make} from './text.js';

const COVERS = [['project', 'the whole project'], ['actor_id', 'the records of an actor'], ['subject_id', 'the records of a subject']];

function setForm({path, done}) {
  const covers = field('It covers', 'covers', {options: COVERS});
  const id = field('Id of the actor or subject', 'id', {maxlength: 1024});
  const toggle = () => {
    id.element.hidden = covers.input.value === 'project';
    // The error of the API belongs beside the one field for both.
    id.name = covers.input.value;
  };
  covers.input.addEventListener('change', toggle);
  toggle();
  const set = async ({covers: what, reason, ...given}) => {
    await askJson(`${path}/holds`, {method: 'POST', body: {reason, ...(what !== 'project' && {[what]: given[what] ?? ''})}});
    await done('The hold is in force.');
  };
  return form([covers, id, field('Reason', 'reason', {required: '', maxlength: 1024, wide: true})], 'Set the hold', set);
}

function item(hold, {path, done}) {
  const lift = async (body) => {
    await askJson(`${path}/holds/${hold.id}/lift`, {method: 'POST', body});
    await done('The hold is lifted.');
  };
  const what = hold.actor_id !== null ? `Actor ${line(hold.actor_id)}` : hold.subject_id !== null ? `Subject ${line(hold.subject_id)}` : 'The project';
  return make('li', {...(hold.lifted_at && {'data-ended': ''})},
    make('h3', {}, make('bdi', {}, what), make('span', {class: 'state'}, hold.lifted_at ? 'lifted' : 'in force')),
    make('p', {}, make('bdi', {}, line(hold.reason))),
    facts(since('set', hold.created_at), since('lifted', hold.lifted_at), hold.lift_reason && line(hold.lift_reason)),
    ...(hold.lifted_at ? [] : [make('details', {}, make('summary', {}, 'Lift'),
      make('p', {class: 'note'}, 'The records that only this hold covers can then be redacted, and expire.'),
      form([field('Reason', 'reason', {required: '', maxlength: 1024})], 'Lift the hold', lift, {danger: true}))]));
}

export const show = async (page) => [
  make('h2', {}, 'Set a hold'),
  setForm(page),
  make('h2', {}, 'Holds'),
  ...await listed(`${page.path}/holds`, 'holds', (hold) => item(hold, page), {signal: page.signal, none: 'None.'}),
];
