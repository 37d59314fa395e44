// The service's API, as the viewer uses it: with the token in a header, which EventSource cannot send.

import {parseJson} from './text.js';

export const FEED = 'v1/project-logs';

const MAX_EVENT = 4 << 20;
const TOKEN = 'annals.token';
const BASE = new URL('.', import.meta.url);

/** The token, kept for as long as the tab is open; null while nobody is signed in. */
export let token = sessionStorage.getItem(TOKEN);

export function setToken(given) {
  token = given;
  if (given === null) {
    sessionStorage.removeItem(TOKEN);
  } else {
    sessionStorage.setItem(TOKEN, given);
  }
}

export class Problem extends Error {
  constructor(status, detail, retryAfter = 0, type = '') {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
    this.type = type;
  }

  static async of(answer) {
    const problem = await answer.json().catch(() => null);
    const detail = problem?.detail ?? problem?.title ?? `The service answered with HTTP status ${answer.status}.`;
    return new Problem(answer.status, detail, Number(answer.headers.get('Retry-After')) || 0, String(problem?.type).split(':').at(-1));
  }
}

/** Asks the service; fails with a Problem, whose status is 0 where the service cannot be reached. */
export async function ask(path, {signal, headers} = {}) {
  let answer;
  try {
    answer = await fetch(new URL(path, BASE), {
      signal,
      headers: {Accept: 'application/json', ...headers, Authorization: `Bearer ${token}`},
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    });
  } catch (error) {
    throw error.name === 'AbortError' ? error : new Problem(0, 'The service cannot be reached. Is the network there?');
  }
  if (!answer.ok) {
    throw await Problem.of(answer);
  }
  return answer;
}

export const askJson = async (path, options) => parseJson(await (await ask(path, options)).text());

/** Links are absolute and name the public host; the viewer stays on the host that it came from. */
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
