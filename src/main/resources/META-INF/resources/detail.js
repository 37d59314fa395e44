// The open record, and the proofs of what is shown: of the open record, and of the rows in sight.

import {FEED, askJson, isLink, token} from './api.js';
import {address, go, ifWide, linkTo, wide} from './address.js';
import {fail} from './session.js';
import {signal} from './feed.js';
import {recordView} from './record.js';
import * as rows from './rows.js';
import {clearMarks, indexOf, recordOf, replaceRecord, set, size, state, watch} from './store.js';
import {byId, make} from './text.js';
import {verifyRecord, verifyRows} from './verify.js';

const MAX_PROVING = 100_000;
const GATHER_MS = 150;
const BEHIND_MS = 1_000;

export const detail = byId('detail');
let verifying = new AbortController();

/** Opens the record with this id, or closes the one that is open. */
export async function openDetail(id) {
  if (id === state.openId && detail.open === (id !== null)) {
    return;
  }
  const asker = token;
  verifying.abort();
  set({openId: id, record: null});
  if (id === null) {
    detail.close();
    return;
  }
  byId('detail-body').replaceChildren();
  byId('detail-title').textContent = 'Record';
  if (!detail.open) {
    detail[wide.matches ? 'show' : 'showModal']();
    byId('detail-title').focus();
  }
  try {
    const record = recordOf(id) ?? (await askJson(`${FEED}/${encodeURIComponent(id)}`));
    if (state.openId === id && token) {
      set({record});
    }
  } catch (problem) {
    if (problem.status === 401) {
      token === asker && fail(problem);
    } else if (state.openId === id) {
      byId('detail-body').replaceChildren(make('p', {class: 'error', role: 'alert'}, problem.message));
    }
  }
}

watch(['record', 'zone'], () => state.record !== null && draw(state.record));

watch(['project'], ({project}) => {
  if (project === null) {
    verifying.abort();
    detail.close();
    byId('detail-body').replaceChildren();
    proving.clear();
  }
});

function draw(record) {
  byId('detail-title').replaceChildren(rows.value(record.action));
  byId('detail-body').replaceChildren(...recordView(record, {
    filters: () => state.filters,
    go: (wanted) => go(wanted, ifWide(state.openId)),
    around: (like, {id, sequence_id: target}) => address(like, ifWide(id), target),
    paintMessage: rows.highlighted,
    link: linkTo(record),
  }));
  byId('detail-body').scrollTop = 0;
  verifyOpen();
}

export function closeDetail() {
  if (state.openId !== null) {
    const index = indexOf(state.openId);
    go(state.filters, null, {replace: true, at: state.target});
    (index >= 0 ? rows.reveal(index).querySelector('a') : byId('records-title')).focus();
  }
}

/** Goes to the row after or before the current one. An open detail then shows that row's record. */
export function step(direction) {
  const current = document.activeElement.closest?.('#rows tr')?.dataset.id ?? state.openId;
  const index = current === null ? 0 : indexOf(current) + direction;
  if (index < 0 || index >= size()) {
    return;
  }
  const row = rows.reveal(index);
  if (detail.open) {
    go(state.filters, row.dataset.id, {replace: true, at: state.target});
    byId('detail-title').focus();
  } else {
    row.querySelector('a').focus();
  }
}

// ---- Proofs --------------------------------------------------------------------------------------------------------

/** The ids of the rows whose proof was asked for. */
const proving = new Set();
let isProving = false;

watch(['loaded'], () => size() === 0 && proving.clear());

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Proves the rows in sight, one group after the other: however fast the reader scrolls, requests stay few. */
export async function verifyInSight() {
  if (isProving || isLink || token === null) {
    return;
  }
  isProving = true;
  try {
    let found;
    do {
      await pause(GATHER_MS);
      const own = signal();
      found = rows.inSight().filter(({id}) => !proving.has(id));
      if (proving.size > MAX_PROVING) {
        proving.clear();
      }
      found.forEach(({id}) => proving.add(id));
      const behind = found.length > 0 && !own.aborted ? await verifyRows(found, own, replaceRecord) : [];
      if (behind.length > 0 && !own.aborted) {
        behind.forEach(({id}) => proving.delete(id));
        await pause(BEHIND_MS);
      }
    } while (found.length > 0);
  } finally {
    isProving = false;
  }
}

/** Proves the open record, and all rows in sight, anew. */
export function verifyAll() {
  verifyOpen();
  clearMarks();
  proving.clear();
  verifyInSight();
}

function verifyOpen() {
  if (state.record === null || isLink) {
    return;
  }
  verifying.abort();
  verifying = new AbortController();
  verifyRecord(state.record, byId('detail-proof'), verifying.signal, (record) => {
    replaceRecord(record);
    set({record});
  });
}
