// The query language of `q`: the page writes terms, and reads the words to highlight. Only the service decides what a query means.

export const MAX_QUERY = 1024;

/** The language: what to write, and what it finds. The completion offers the fields, the help all of it. */
export const LANGUAGE = [
  {write: 'volume created', means: 'all these words, in any field'},
  {write: '"has been created"', means: 'these words in a row'},
  {write: 'vol*', means: 'a word that begins so; also a value: action:volume_*'},
  {field: 'action', write: 'action:volume_create', means: 'this action'},
  {field: 'actor', write: 'actor:jane', means: 'these words in the actor’s id or name; in quotes, the whole of it'},
  {field: 'actor.id', write: 'actor.id:u-1', means: 'this id of the actor'},
  {field: 'actor.name', write: 'actor.name:jane', means: 'these words in the actor’s name'},
  {field: 'actor.type', write: 'actor.type:user', means: 'this type of the actor'},
  {field: 'subject', write: 'subject:cache', means: 'the same of the subject'},
  {field: 'subject.id', write: 'subject.id:v-77', means: 'this id of the subject'},
  {field: 'subject.name', write: 'subject.name:cache', means: 'these words in the subject’s name'},
  {field: 'subject.type', write: 'subject.type:volume', means: 'this type of the subject'},
  {field: 'outcome', write: 'outcome:denied,failure', means: 'one of these outcomes'},
  {field: 'ip', write: 'ip:10.0.0.0/8', means: 'an address in this network'},
  {field: 'message', write: 'message:disk-full', means: 'these words in the message'},
  {field: 'recorded_by', write: 'recorded_by:role:app', means: 'written by this token, identity or role'},
  {field: 'id', write: 'id:019a9d5e-7c1a-7b52-9e0d-3f6a1c2b4d5e', means: 'the record with this id'},
  {write: 'metadata.request_id:7f3a', means: 'this value in the metadata; nested: metadata.a.b'},
  {write: 'metadata.amount:>400', means: 'a larger number, or a later time, in the metadata; also >=, <, <='},
  {field: 'last', write: 'last:24h', means: 'the time before now: s, m, h, d, w'},
  {field: 'occurred_at', write: 'occurred_at:2026-01-01..2026-02-01', means: 'from the first time to before the second; or one day'},
  {field: 'recorded_at', write: 'recorded_at:2026-01-31', means: 'stored then'},
  {write: '-outcome:success', means: 'all but these'},
  {write: '(jane OR outcome:denied) last:7d', means: 'one or the other, and all the rest'},
];

const PLAIN = /^[\p{L}\p{N}_@][\p{L}\p{N}_@.-]*$/u;
const PLAIN_NAME = /^[\p{L}\p{N}_@-]+$/u;
const OPERATOR = /^(?:OR|AND|NOT)$/;
const TOKEN = /"(?:[^"\\]|\\.)*"?|[()]|[^\s()"]+/g;

const quoted = (text) => `"${text.replace(/["\\]/g, '\\$&')}"`;

/** Fields whose value without quotes is words. */
const NAMES = /^(?:actor|subject)(?:\.name)?$/;

/** The term of a query for a field's whole value. */
export const term = (field, text) =>
  `${field}:${PLAIN.test(text) && !OPERATOR.test(text) && !NAMES.test(field) ? text : quoted(text)}`;

/** The field of a value in the metadata, by its path. */
export const metadataField = (path) => `metadata.${path.map((name) => (PLAIN_NAME.test(name) ? name : quoted(name))).join('.')}`;

/** Whether a query has OR outside of quotes and parentheses, and needs parentheses before a term is added. */
function isAlternative(query) {
  let depth = 0;
  for (const [token] of query.matchAll(TOKEN)) {
    depth += token === '(' ? 1 : token === ')' ? -1 : 0;
    if (depth === 0 && token === 'OR') {
      return true;
    }
  }
  return false;
}

/** Adds a term to a query. */
export function withTerm(query, added) {
  if (!query) {
    return added;
  }
  return ` ${query} `.includes(` ${added} `) ? query : `${isAlternative(query) ? `(${query})` : query} ${added}`;
}

// ---- Words ---------------------------------------------------------------------------------------------------------

/** Separators of words, as in annals.words() of the schema. */
const BETWEEN =
  /[\t-\r \u0085\u00a0\u2000-\u200a\u2028-\u202f\u205f\u3000!"#$%&'()*+,./:;<=>?@[\\\]^_`{|}~\u00a1\u00ab\u00bb\u00bf\u2010-\u2027\u2039\u203a\u2e3a\u2e3b\u3001\u3002\u300c-\u300f\u037e\u1fef\u203c\u2047-\u2049\u207a\u207c-\u207e\u208a\u208c-\u208e\u2a74-\u2a76\ufb29\ufe10-\ufe16\ufe19\ufe30-\ufe38\ufe41-\ufe44\ufe47-\ufe48\ufe4d-\ufe52\ufe54-\ufe5c\ufe5f-\ufe66\ufe68-\ufe6b\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff5e\uff61-\uff64-]+/;
const BETWEEN_ALL = new RegExp(BETWEEN, 'g');

/** normalize() takes time with the square of a run of marks, so an invisible joiner divides long runs, as annals.normalized() does. */
const divided = (text) => text.replace(/([\p{M}\uff9e\uff9f]{30})(?=[\p{M}\uff9e\uff9f])/gu, '$1\u034f');

/** The decomposition of a text. */
export const decomposed = (text) => divided(text).normalize('NFKD');

/** Folds a text like annals.fold() of the schema, except for a few rare letters. */
const folded = (text) => decomposed(text).toLowerCase().replace(/ς/g, 'σ').replace(/ß/g, 'ss').replace(/\u0345/g, 'ι').normalize('NFKC');

/** Whether a text has words that a query can find. */
export const hasWords = (text) => text.split(BETWEEN).some(Boolean);

const SPACE = /\s+/y;
const NOT = /-(?=[^\s)-])|NOT(?=[\s("])\s*/y;
const FIELD = /(metadata\.(?:[^\s:"()]|"(?:[^"\\]|\\.)*")+|[A-Za-z_][\w.]*):(?=[^\s:/\\)])/iy;
const VALUES = /\([^)]*\)?|(?:(?:"(?:[^"\\]|\\.)*"?|[^\s()",]+)\*?,?)+/y;
const VALUE = /"(?:[^"\\]|\\.)*"?\*?|[^\s(),"]+/g;
const PHRASE = /"((?:[^"\\]|\\.)*)"?(\*?)/y;
const WORD = /[^\s()]+/y;
const WITHIN = /^\*[^*]+\*$/;

/**
 * The words that a query finds in messages, without excluded words.
 *
 * @returns for each word or phrase its words, folded, and whether the last of them only has to begin so, or to have it within
 */
export function wordsOf(query) {
  const found = [];
  const excluded = [false];
  let not = false;
  let at = 0;
  const read = (pattern) => {
    pattern.lastIndex = at;
    const match = pattern.exec(query);
    at = match ? pattern.lastIndex : at;
    return match;
  };
  const take = (text, prefix, within = WITHIN.test(text)) => {
    const words = folded(text).split(BETWEEN).filter(Boolean);
    if (words.length > 0 && !not && !excluded.at(-1)) {
      found.push({words, prefix, within});
    }
  };
  while (at < query.length) {
    let match;
    if (read(SPACE)) {
      continue;
    }
    if (read(NOT)) {
      not = !not;
      continue;
    }
    if (query[at] === '(') {
      excluded.push(not || excluded.at(-1));
      at++;
    } else if (query[at] === ')') {
      excluded.length > 1 && excluded.pop();
      at++;
    } else if ((match = read(FIELD))) {
      const isMessage = match[1].toLowerCase() === 'message';
      const [values] = read(VALUES) ?? [''];
      for (const [value] of isMessage ? values.matchAll(VALUE) : []) {
        value !== 'OR' && take(value, value.endsWith('*'));
      }
    } else if ((match = read(PHRASE))) {
      take(match[1].replace(/\\(["\\])/g, '$1'), match[2] !== '');
    } else if ((match = read(WORD)) && !OPERATOR.test(match[0])) {
      const words = match[0].split(BETWEEN).filter(Boolean);
      words.forEach((word, i) => take(word, match[0].endsWith('*') && i === words.length - 1, WITHIN.test(match[0])));
    }
    not = false;
  }
  return found;
}

/** The words of a query that asks for fields, without the fields; empty if it has exclusions, alternatives or times. */
export const words = (query) => (/(?:^|[\s(])(?:-|NOT\b|OR\b|last:|occurred_at:|recorded_at:)|[(),*]/i.test(query)
  ? '' : query.replace(/(^|\s)(?:metadata\.(?:[^\s:"]|"(?:[^"\\]|\\.)*")+|[A-Za-z_][\w.]*):(?=[^\s:/\\])/g, '$1').trim());

/** The ranges of such words in a text, from the first character to after the last, sorted and disjoint. */
export function placesOf(text, wanted) {
  const words = [];
  let start = 0;
  for (const gap of [...text.matchAll(BETWEEN_ALL), {index: text.length, 0: ''}]) {
    if (gap.index > start) {
      words.push({start, end: gap.index, word: folded(text.slice(start, gap.index))});
    }
    start = gap.index + gap[0].length;
  }
  const places = [];
  for (let i = 0; i < words.length; i++) {
    const lengths = wanted.filter(({words: looked, prefix, within}) => looked.every((word, n) =>
      within ? words[i + n]?.word.includes(word) : prefix && n === looked.length - 1 ? words[i + n]?.word.startsWith(word) : words[i + n]?.word === word))
      .map(({words: looked}) => looked.length);
    if (lengths.length > 0) {
      const end = words[i + Math.max(...lengths) - 1].end;
      if (places.length > 0 && words[i].start < places.at(-1)[1]) {
        places.at(-1)[1] = Math.max(end, places.at(-1)[1]);
      } else {
        places.push([words[i].start, end]);
      }
    }
  }
  return places;
}
