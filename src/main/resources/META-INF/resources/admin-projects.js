// Projects: list, create, rename, retention, limits and close. A project's tokens and holds are modules of their own.

import {askJson} from './api.js';
import {act, code, confirmName, facts, field, form, limitsForm, listed, numberField, since} from './admin-form.js';
import {count, line, make} from './text.js';

const PATH = 'v1/projects';
const PARTS = {
  tokens: {title: 'Tokens', load: () => import('./admin-tokens.js')},
  holds: {title: 'Legal holds', load: () => import('./admin-holds.js')},
};

const addressOf = (...path) => `#${['projects', ...path].map(encodeURIComponent).join('/')}`;
const kept = ({retention_days: days}) => (days === null ? 'keeps records for ever' : `keeps records for ${count.format(days)} days`);

const item = (project) => make('li', {...(project.closed_at && {'data-ended': ''})},
  make('h3', {}, make('a', {href: addressOf(project.id)}, make('bdi', {}, line(project.name)))),
  facts(project.closed_at ? since('closed', project.closed_at) : 'open', kept(project), since('created', project.created_at),
    ...(several ? [`in ${project.database}`] : [])));

/** Whether the service has several databases. */
let several = false;

async function all({signal}) {
  const {databases} = await askJson('v1/databases', {signal});
  several = databases.length > 1;
  const create = async (body) => {
    const {id} = await askJson(PATH, {method: 'POST', body});
    location.hash = addressOf(id);
  };
  return [
    make('h2', {}, 'Create a project'),
    form([
      field('Name', 'name', {required: '', maxlength: 255}),
      ...(several ? [field('Database', 'database', {
        options: [['', 'The one with the fewest records'], ...databases.map(({name}) => [name, name])],
      })] : []),
    ], 'Create', create),
    make('h2', {}, 'Open a project'),
    form([field('Name or id', 'project', {required: '', maxlength: 255})], 'Open', async ({project}) => {
      const {id} = await askJson(`${PATH}/${encodeURIComponent(project)}`, {signal});
      location.hash = addressOf(id);
    }),
    make('h2', {}, 'All projects'),
    ...await listed(PATH, 'projects', item, {signal, none: 'None.'}),
  ];
}

/** The database of a project, and the move that goes on; nothing of a service with one database. */
async function place({id, database}, {signal}) {
  const {databases} = await askJson('v1/databases', {signal});
  if (databases.length === 1) {
    return [];
  }
  const move = await askJson(`${PATH}/${id}/move`, {signal}).catch((problem) => {
    if (problem.status === 404) {
      return null;
    }
    throw problem;
  });
  return [`in ${database}`, move && move.ended_at === null
    && `moving from ${move.from} to ${move.database}: ${move.state}, ${count.format(move.copied)}`
      + ` of ${move.last_sequence_id === null ? '?' : count.format(move.last_sequence_id)} records copied`];
}

/** The settings of a project. That of the administration keeps its name and its records. */
function settings(project, {caller, done}) {
  const path = `${PATH}/${project.id}`;
  const change = (body) => askJson(path, {method: 'PATCH', body});
  const name = line(project.name);
  const rename = async (body) => {
    await change(body);
    await done('The project has its new name.');
  };
  const retain = async ({retention_days: days = null, archive_required: archive}) => {
    const removesMore = days !== null
      && (project.retention_days === null || days < project.retention_days || (project.archive_required && !archive));
    if (removesMore && !await confirmName('Remove records for good?',
      `Records of ${name} that are older than ${count.format(days)} days are removed${archive ? ' once they are in an archive' : ''}.`,
      project.name, 'Set retention')) {
      return;
    }
    await change({retention_days: days, archive_required: archive});
    await done('The retention is set.');
  };
  const close = async () => {
    if (await confirmName('Close the project?', 'It takes no more records, and cannot be opened again.', project.name, 'Close the project')) {
      await askJson(`${path}/close`, {method: 'POST'});
      await done('The project is closed.');
    }
  };
  const isOwn = project.id === caller.project.id;
  return [
    ...(isOwn ? [] : [
      make('h2', {}, 'Name'),
      form([field('Name', 'name', {value: project.name, required: '', maxlength: 255})], 'Rename', rename),
      make('h2', {}, 'Retention'),
      form([
        numberField('Days', 'retention_days', {value: project.retention_days, min: 1, max: 36_500, note: 'Empty: for ever.'}),
        field('Only what is in an archive is removed', 'archive_required',
          {type: 'checkbox', ...(project.archive_required && {checked: ''})}),
      ], 'Set retention', retain),
    ]),
    make('h2', {}, 'Limits'),
    limitsForm(project.limits, 'Set limits', async (body) => {
      await askJson(`${path}/limits`, {method: 'PUT', body});
      await done('The limits are set.');
    }),
    ...(isOwn || project.closed_at ? [] : [
      make('h2', {}, 'Close'), act('Close the project …', close, {class: 'danger'}),
    ]),
  ];
}

/** @param path empty for all projects; else a project's id, and the part of it */
export async function show({path: [id, part = 'settings'], ...page}) {
  if (id === undefined) {
    return {nodes: await all(page)};
  }
  const project = await askJson(`${PATH}/${encodeURIComponent(id)}`, {signal: page.signal});
  const tab = (name, title) => make('a', {
    href: addressOf(project.id, ...(name === 'settings' ? [] : [name])), ...(name === part && {'aria-current': 'page'}),
  }, title);
  const parts = Object.hasOwn(PARTS, part)
    ? await (await PARTS[part].load()).show({project, path: `${PATH}/${project.id}`, ...page})
    : settings(project, page);
  return {
    title: line(project.name),
    nodes: [
      facts(since('created', project.created_at), since('closed', project.closed_at), kept(project),
        project.archived_through > 0 && `in archives up to record ${project.archived_through}`,
        project.awaits_archive && 'records wait for an archive', ...await place(project, page)),
      make('p', {class: 'note'}, 'Id ', code(project.id)),
      make('nav', {class: 'parts', 'aria-label': 'Of the project'}, tab('settings', 'Settings'),
        ...Object.entries(PARTS).map(([name, {title}]) => tab(name, title))),
      ...parts,
    ],
  };
}
