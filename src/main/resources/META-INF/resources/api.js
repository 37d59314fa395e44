// The service's API. Requests have the token in a header, which EventSource cannot send.

import {parseJson} from './text.js';

export const FEED = 'v1/project-logs';

const MAX_EVENT = 4 << 20;
const TOKEN = 'annals.token';
const LINK = 'annals.link';
const PROJECT = 'annals.project';
/** In place of a token after a sign-in with the provider: the browser has a cookie, which scripts cannot read. */
const SESSION = 'session';
const BASE = new URL('.', import.meta.url);
/**
 * The project of a page that a link to a project has opened; null for other pages. ViewerRoutes lets the project's embedders show such a
 * page in a frame, and knows it by the same pattern. It uses no session, and nothing that the browser has stored for other pages.
 */
export const portal = /^\?project=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(location.search)?.[1] ?? null;
export const isFramed = self !== top;

/** Storage that the browser may refuse to a page in a frame. Nothing is stored then, nor on a link's page in a frame. */
function stored(storage) {
  const prefix = portal === null ? '' : `${portal} `;
  const attempt = (action) => {
    try {
      return portal !== null && isFramed ? null : action(storage());
    } catch {
      return null;
    }
  };
  return {
    get: (key) => attempt((there) => there.getItem(prefix + key)),
    set: (key, value) => attempt((there) => there.setItem(prefix + key, value)),
    remove: (key) => attempt((there) => there.removeItem(prefix + key)),
  };
}

export const ofTab = stored(() => sessionStorage);
export const ofBrowser = stored(() => localStorage);

/** The token, stored as long as the tab is open; null before the sign-in. */
export let token = ofTab.get(TOKEN);
/** Whether the token is from a link: it reads some records, and neither statistics nor proofs. */
export let isLink = portal !== null || ofTab.get(LINK) !== null;
/** The id of the project; null while it is unknown, as with the token of a link. */
export let project = ofTab.get(PROJECT);

export const isSession = () => token === SESSION;

/** Reads a project with the session of the provider. */
export const setSession = (id) => setToken(SESSION, {id});

/** @param id of the token's project, if it is known */
export function setToken(given, {fromLink = false, id = null} = {}) {
  token = given;
  isLink = portal !== null || fromLink;
  project = id;
  [PROJECT, TOKEN, LINK].forEach(ofTab.remove);
  if (given !== null) {
    ofTab.set(TOKEN, given);
  }
  if (id !== null) {
    ofTab.set(PROJECT, id);
  }
  if (fromLink) {
    ofTab.set(LINK, 'true');
  }
}

/** Removes the token of a link from the address, so that neither the history nor a copied address contains it. */
export function takeLink() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const given = parameters.get('token');
  if (given === null) {
    return false;
  }
  parameters.delete('token');
  history.replaceState(null, '', `#${parameters}`);
  if (/^annals_\w+$/.test(given)) {
    setToken(given, {fromLink: true});
  }
  return true;
}

export class Problem extends Error {
  constructor(status, detail, retryAfter = 0, type = '', position = 0) {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
    this.type = type;
    // The character of the query that is wrong, from 1; 0 for other problems.
    this.position = position;
    // The places in the body that are wrong, each with its JSON pointer and detail.
    this.errors = [];
  }

  static async of(answer) {
    const problem = await answer.json().catch(() => null);
    const detail = problem?.detail ?? problem?.title ?? `The service answered with HTTP status ${answer.status}.`;
    const type = String(problem?.type).split(':').at(-1);
    const retryAfter = Number(answer.headers.get('Retry-After')) || 0;
    return Object.assign(new Problem(answer.status, detail, retryAfter, type, problem?.position), {errors: problem?.errors ?? []});
  }
}

const credentials = (as) => {
  if (as !== null || !isSession()) {
    return {Authorization: `Bearer ${as ?? token}`};
  }
  return project === null ? {} : {'Annals-Project': project};
};

/**
 * Asks the service. Fails with a Problem, whose status is 0 if the service cannot be reached.
 *
 * @param body a value to send as JSON
 * @param cookie whether to send the session's cookie, if there is one
 * @param as a token to send in place of the current one
 * @param body a value to send as JSON
 */
export async function ask(path, {signal, headers, method = 'GET', body, as = null, cookie = as === null && isSession()} = {}) {
  let answer;
  try {
    answer = await fetch(new URL(path, BASE), {
      method,
      signal,
      headers: {
        Accept: 'application/json',
        ...(body && {'Content-Type': 'application/json'}),
        ...headers,
        ...(cookie && !isSession() ? {} : credentials(as)),
      },
      body: body && JSON.stringify(body),
      cache: 'no-store',
      credentials: cookie ? 'same-origin' : 'omit',
      redirect: 'error',
    });
  } catch (error) {
    throw error.name === 'AbortError' ? error : new Problem(0, 'The service cannot be reached. Check the network.');
  }
  if (!answer.ok) {
    throw await Problem.of(answer);
  }
  return answer;
}

export const askJson = async (path, options) => parseJson(await (await ask(path, options)).text());

/** The query of a link. Links name the public host; the viewer stays on the host from which it was loaded. */
export const queryOf = (link) => (link === null ? null : new URL(link).search);

/** The events of a stream, as the HTML standard reads them; a comment or a retry is an event without data. */
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let event = {};
  for (;;) {
    const {done, value} = await reader.read();
    if (done) {
      return;
    }
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    if (rest.length > MAX_EVENT) {
      throw new Problem(0, 'The stream sent an event that is too long.');
    }
    for (const text of lines) {
      const [, field, content] = /^([^:]*):? ?([^]*)$/.exec(text);
      if (text === '') {
        yield event;
        event = {};
      } else if (field === 'data') {
        event.data = event.data === undefined ? content : `${event.data}\n${content}`;
      } else if (field !== '') {
        event[field] = content;
      }
    }
    yield {};
  }
}
