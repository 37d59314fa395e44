// Signing in and out, and changing between the projects that are open.

import {ask, askJson, Problem, isLink, isSession, ofTab, portal, setToken, token} from './api.js';
import {address, currentAddress} from './address.js';
import * as projects from './projects.js';
import {set, state} from './store.js';
import {byId, line} from './text.js';

const SIGN_IN_FAILURES = {
  refused: 'The provider did not let you sign in.',
  unknown: 'This sign-in was not begun here, or too long ago. Try again.',
  away: 'The provider cannot be reached. Try again later.',
  'too-long': 'The provider says more of you than fits into a cookie. Tell the administrator.',
  bad: 'What the provider said of you does not hold. Tell the administrator.',
};
const ADDRESS = 'annals.address';

/** Shows what the address says; the page's. */
let start = () => {};

/** Shows the sign-in form or the records. */
export function showSignIn() {
  byId('sign-in').hidden = token !== null || portal !== null;
  byId('link-ended').hidden = token !== null || portal === null;
  document.querySelectorAll('.signed-in').forEach((element) => (element.hidden = token === null));
  if (isLink) {
    byId('sign-out').hidden = true;
    byId('proof-state').hidden = true;
    byId('histogram').hidden = true;
  }
  if (token === null) {
    byId('token').focus();
  }
}

/** Goes to the provider. This tab keeps the address, which the provider must not see. */
export function leaveForProvider() {
  ofTab.set(ADDRESS, location.hash);
  location.assign('v1/session/sign-in');
}

/** The reason why a sign-in with the provider failed; null if none did. */
function takeFailure() {
  const reason = new URLSearchParams(location.hash.slice(1)).get('sign-in');
  if (reason === null) {
    return null;
  }
  history.replaceState(null, '', '#');
  return SIGN_IN_FAILURES[reason] ?? SIGN_IN_FAILURES.bad;
}

/** Offers the provider, if the service has one, and opens a project for a reader who is signed in with it. */
export async function enter() {
  const failure = takeFailure();
  const session = await askJson('v1/session', {cookie: true}).catch(() => null);
  if (!session?.provider) {
    return;
  }
  byId('provider-name').textContent = new URL(session.provider).host;
  byId('provider').hidden = false;
  if (session.subject !== null) {
    projects.setPerson(session);
  }
  if (failure !== null) {
    byId('sign-in-error').textContent = failure;
  } else if (token === null && session.subject !== null) {
    await enterProject();
  } else if (isSession() || session.subject !== null) {
    projects.askGranted().catch(() => {});
  }
}

/** Opens the project that the address names or, without one, the first that is granted. */
async function enterProject() {
  try {
    const open = await projects.askGranted();
    if (open.length === 0) {
      throw new Problem(0, 'You have signed in, but no project is open to you. Ask the administrator for a grant.');
    }
    const before = ofTab.get(ADDRESS);
    ofTab.remove(ADDRESS);
    if (before && location.hash.length < 2) {
      history.replaceState(null, '', before);
    }
    const wanted = new URLSearchParams(location.hash.slice(1)).get('project');
    projects.use((open.find(({id}) => id === wanted) ?? open[0]).id);
    start();
  } catch (problem) {
    setToken(null);
    byId('sign-in-error').textContent = problem.message;
  }
}

/** Ends all that is shown and loaded of the project. */
export const endProject = () => set({project: null, openId: null, record: null});

/** Shows another project with the same filters, columns and view, and with no record open. */
function changeProject(id) {
  if (state.project !== null) {
    history.replaceState(null, '', currentAddress());
  }
  projects.use(id);
  endProject();
  set({project: id});
  history.pushState(null, '', address(state.filters));
  start();
  byId('announce').textContent = `Project ${line(projects.nameOf(id))}`;
}

export async function signIn(submit) {
  submit.preventDefault();
  const error = byId('sign-in-error');
  const given = byId('token').value.trim();
  error.textContent = '';
  try {
    await projects.take(given);
    byId('token').value = '';
    start();
  } catch (problem) {
    error.textContent = problem.message;
    byId('token').select();
  }
}

/** @param reason why the token or the session has ended: then other projects stay open. Without one, all of them end. */
export function signOut(reason = '') {
  if (isSession() || (reason === '' && projects.hasSession())) {
    ask('v1/session', {method: 'DELETE', cookie: true}).catch(() => {});
  }
  reason === '' ? projects.end() : projects.drop();
  endProject();
  byId('sign-in-error').textContent = reason;
  showSignIn();
  byId('token').focus();
}

/** Shows a problem. A token that is no longer valid ends the session. */
export function fail(problem) {
  if (problem.name === 'AbortError') {
    return;
  }
  if (problem.status === 401 && portal !== null) {
    setToken(null);
    endProject();
    showSignIn();
  } else if (problem.status === 401 && !isLink) {
    signOut(problem.message);
  } else {
    set({problem});
  }
}

/** @param show shows what the address says */
export function begin(show) {
  start = show;
  projects.begin(changeProject);
}
