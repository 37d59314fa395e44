// Tokens of a project: list, issue, rotate, limit and revoke.

import {ask, askJson} from './api.js';
import {act, code, confirmName, facts, field, form, limitsForm, listed, LIMITS, numberField, since} from './admin-form.js';
import {line, make} from './text.js';
import {momentOf} from './times.js';

const SCOPES = [
  ['read', 'read: reads records'], ['write', 'write: appends records'], ['sequence', 'sequence: defines sequences'],
  ['redact', 'redact: removes values'], ['link', 'link: makes viewer links'], ['stream', 'stream: streams and alerts'],
];
const ADMINISTRATION = [['audit', 'audit: reads the administration'], ['admin', 'admin: administers']];
const DAY = 86_400;
/** Longer descriptions are not typed to confirm. */
const MAX_TYPED = 60;

const stateOf = ({revoked_at: revoked, expires_at: expires}) => {
  if (revoked !== null) {
    return since('revoked', revoked);
  }
  return expires !== null && momentOf(expires) <= Date.now() ? since('expired', expires) : null;
};

const limitsText = (limits) => LIMITS.filter(([name]) => name in limits)
  .map(([name, label]) => `${label.toLowerCase()}: ${limits[name]}`).join(', ');

function issueForm({project, path, caller, done, showToken}) {
  const isAdministration = project.id === caller.project.id;
  const networks = (text) => text.split(/[\s,]+/).filter(Boolean);
  const issue = async (body) => {
    const {token} = await askJson(`${path}/tokens`, {method: 'POST', body});
    await done('The token is issued.');
    showToken(token);
  };
  return form([
    field('What it is for', 'description', {maxlength: 1024, wide: true}),
    field('It may', 'scopes', {several: true, options: isAdministration ? ADMINISTRATION : SCOPES}),
    field('Expires (UTC)', 'expires_at', {
      type: 'datetime-local', note: 'Empty: never.', max: '9999-12-31T23:59', read: (text) => new Date(`${text}Z`).toISOString(),
    }),
    field('Only from these networks', 'allowed_addresses', {
      maxlength: 1024, placeholder: '192.0.2.0/24, 2001:db8::/32', note: 'Empty: from everywhere.', read: networks,
    }),
  ], 'Issue a token', issue);
}

/** The operations on a valid token. The token of a viewer link can only be revoked. */
function actions(token, {path, caller, done, showToken}) {
  const own = `${path}/tokens/${token.id}`;
  const rotate = async (body) => {
    const {token: next} = await askJson(`${own}/rotate`, {method: 'POST', body});
    await done('The token is rotated.');
    showToken(next);
  };
  const limit = async (body) => {
    await askJson(`${own}/limits`, {method: 'PUT', body});
    await done('The limits of the token are set.');
  };
  const revoke = async () => {
    const name = token.description && token.description.length <= MAX_TYPED ? token.description : token.id;
    const text = token.id === caller.token_id ? 'It is the one that you use here. It cannot be undone.' : 'It cannot be undone.';
    if (await confirmName('Revoke the token?', text, name, 'Revoke the token')) {
      await ask(own, {method: 'DELETE'});
      await done('The token is revoked.');
    }
  };
  return make('details', {}, make('summary', {}, token.issued_by ? 'Revoke' : 'Rotate, limit or revoke'),
    ...(token.issued_by ? [] : [
      form([numberField('The old one stays valid for (seconds)', 'overlap_seconds', {value: DAY, min: 0, max: 30 * DAY})], 'Rotate', rotate),
      limitsForm(token.limits, 'Set limits', limit),
    ]),
    make('div', {class: 'acting'}, act('Revoke …', revoke, {class: 'danger'})));
}

function item(token, page) {
  const ended = stateOf(token);
  return make('li', {...(ended && {'data-ended': ''})},
    make('h3', {}, make('bdi', {}, line(token.description ?? 'Without a description')),
      make('span', {class: 'state'}, ended ?? (token.id === page.caller.token_id ? 'in use here' : ''))),
    facts(token.scopes.join(', '), since('created', token.created_at), !ended && since('expires', token.expires_at),
      token.last_used_at ? since('last used', token.last_used_at) : 'never used', token.replaced_by && 'rotated',
      token.issued_by && 'of a viewer link', line(token.allowed_addresses.join(', ')), limitsText(token.limits)),
    make('p', {class: 'note'}, 'Id ', code(token.id)),
    ...(ended ? [] : [actions(token, page)]));
}

export const show = async (page) => [
  make('h2', {}, 'Issue a token'),
  issueForm(page),
  make('h2', {}, 'Tokens'),
  ...await listed(`${page.path}/tokens`, 'tokens', (token) => item(token, page), {signal: page.signal, none: 'None.'}),
];
