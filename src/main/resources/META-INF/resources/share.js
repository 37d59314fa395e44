// Exports of what is shown: as a file, or as a shell command. Neither contains a token; commands read it from ANNALS_TOKEN.

import {FEED, Problem, ask, isFramed} from './api.js';
import {MAX_QUERY, term, withTerm} from './query.js';
import {copyButton} from './record.js';
import {byId, count, passFocus} from './text.js';

const MAX_HELD = 256 << 20;
const MIB = 1 << 20;
const BASE = new URL('.', import.meta.url);
const EXTENSIONS = {csv: 'csv', ndjson: 'ndjson', cloudevents: 'cloudevents.ndjson', ocsf: 'ocsf.ndjson'};
const FIELDS = {
  action: 'action', actor: 'actor', subject: 'subject', outcome: 'outcome', ip_address: 'ip', recorded_by: 'recorded_by',
};

/**
 * Quotes a text for a POSIX shell. Terminals act on control characters even between quotes, so a text with control characters other
 * than line breaks is written with escapes, which bash, zsh and ksh read.
 */
function shell(text) {
  if (/^[\w@%+=:,./-]+$/.test(text)) {
    return text;
  }
  const hidden = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
  if (!hidden.test(text)) {
    return `'${text.replaceAll("'", "'\\''")}'`;
  }
  const bytes = (character) => [...new TextEncoder().encode(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
  return `$'${[...text].map((character) => (hidden.test(character) || /['\\]/.test(character) ? bytes(character) : character)).join('')}'`;
}

/** @param parameters of the page that is shown */
function curl(parameters) {
  const data = Object.entries(parameters).map(([name, value]) => ` \\\n  --data-urlencode ${shell(`${name}=${value}`)}`);
  return `curl -s -G -H "Authorization: Bearer $ANNALS_TOKEN" ${shell(new URL(FEED, BASE).href)}${data.join('')}`;
}

/** All filters as one query; null if it would be too long. */
function asQuery({q = '', start, end, last, ...filters}) {
  let query = q;
  for (const [name, value] of Object.entries(filters)) {
    query = withTerm(query, term(FIELDS[name], value));
  }
  if (last !== undefined) {
    query = withTerm(query, `last:${last}`);
  } else if (start !== undefined || end !== undefined) {
    query = withTerm(query, term('occurred_at', `${start ?? ''}..${end ?? ''}`));
  }
  return query.length > MAX_QUERY ? null : query;
}

function annals(filters, {limit}, target) {
  const query = asQuery(filters);
  if (query === null) {
    return null;
  }
  const around = target === null ? '' : ` --around ${target}`;
  return `ANNALS_URL=${shell(BASE.href.replace(/\/$/, ''))} annals search -n ${limit}${around}${query === '' ? '' : ` -- ${shell(query)}`}`;
}

// ---- Files ---------------------------------------------------------------------------------------------------------

let exporting = null;

/** Shows the progress of an export. */
function counting() {
  let bytes = 0;
  let shownAt = 0;
  const show = () => (byId('export-progress').textContent = `${count.format(Math.round((bytes / MIB) * 10) / 10)} MiB`);
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (performance.now() - shownAt > 100) {
        shownAt = performance.now();
        show();
      }
      controller.enqueue(chunk);
    },
    flush: show,
  });
}

/** Browsers let no frame choose a file. */
const canStream = () => typeof window.showSaveFilePicker === 'function' && !isFramed;

const nameIn = (answer) => /filename="([\w.-]+)"/.exec(answer.headers.get('Content-Disposition') ?? '')?.[1] ?? 'annals';

/** Reads an answer into memory, and offers it as a download. Fails if it is too large. */
async function download(answer) {
  const chunks = [];
  let size = 0;
  for (const reader = answer.body.pipeThrough(counting()).getReader(); ;) {
    const {done, value} = await reader.read();
    if (done) {
      break;
    }
    size += value.length;
    if (size > MAX_HELD) {
      await reader.cancel();
      throw new Problem(0, `This is more than ${MAX_HELD / MIB} MiB. Narrow the filters, or use a command.`);
    }
    chunks.push(value);
  }
  const link = document.createElement('a');
  link.download = nameIn(answer);
  link.href = URL.createObjectURL(new Blob(chunks));
  link.click();
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Writes an answer into a file as it arrives. The browser discards the file of a broken export. */
async function save(format, asked, signal) {
  const query = new URLSearchParams({format, ...asked});
  const file = canStream() ? await window.showSaveFilePicker({suggestedName: `annals.${EXTENSIONS[format]}`}) : null;
  const answer = await ask(`${FEED}/export?${query}`, {signal, headers: {Accept: '*/*'}});
  if (file === null) {
    await download(answer);
  } else {
    await answer.body.pipeThrough(counting()).pipeTo(await file.createWritable(), {signal});
  }
}

async function exportAll() {
  exporting = new AbortController();
  byId('export-error').textContent = '';
  byId('export-progress').textContent = '';
  const focused = document.activeElement;
  byId('export').disabled = true;
  byId('stop-export').hidden = false;
  passFocus(focused, byId('stop-export'));
  try {
    await save(document.querySelector('[name=format]:checked').value, shown().asked, exporting.signal);
    byId('export-progress').textContent += ', complete.';
  } catch (problem) {
    byId('export-progress').textContent = '';
    if (problem.name !== 'AbortError') {
      byId('export-error').textContent = problem instanceof Problem ? problem.message : 'The export broke off. No file was written.';
    }
  } finally {
    exporting = null;
    const last = document.activeElement;
    byId('export').disabled = false;
    byId('stop-export').hidden = true;
    passFocus(last, byId('export'));
  }
}

// ---- The dialog ----------------------------------------------------------------------------------------------------

/** Returns what is shown: the filters of the page and for the service, the parameters of the page, and the target. */
let shown = () => ({});

function draw() {
  const {filters, asked, parameters, target} = shown();
  if (exporting === null) {
    byId('export-error').textContent = '';
    byId('export-progress').textContent = '';
  }
  byId('export-note').textContent = canStream()
    ? 'The file is written as it arrives.'
    : `This browser holds all of it before it writes the file: ${MAX_HELD / MIB} MiB at most.`;
  const commands = {
    curl: curl({...parameters, ...asked}),
    annals: annals(filters, parameters, target),
  };
  for (const [id, command] of Object.entries(commands)) {
    byId(id).textContent = command ?? 'No query can be as long as these filters.';
    byId(`copy-${id}`).replaceChildren(...(command ? [copyButton('Copy', command)] : []));
  }
}

function open() {
  draw();
  byId('share-dialog').showModal();
  byId('share-title').focus();
}

/** Updates the commands, if the dialog is open. */
export function refresh() {
  if (byId('share-dialog').open) {
    draw();
  }
}

/** Ends the export and closes the dialog. */
export function end() {
  exporting?.abort();
  byId('share-dialog').close();
}

export function begin(given) {
  shown = given;
  byId('share').addEventListener('click', open);
  byId('export').addEventListener('click', exportAll);
  byId('stop-export').addEventListener('click', () => exporting?.abort());
  byId('close-share').addEventListener('click', () => byId('share-dialog').close());
}
