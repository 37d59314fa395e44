-- The words of a text, as in V21. Most separators are single spaces, which string_to_array() finds without the regular
-- expression: each match of that costs as much as all else about a word.
create or replace function annals.words(content text) returns text[]
language sql immutable parallel safe
return array_remove(
  string_to_array(
    lower(regexp_replace(content,
      '[\t-\r!"#$%&''()*+,./:;<=>?@\[\\\]^_`{|}~\u0085\u00a0\u00a1\u00ab\u00bb\u00bf\u2010-\u2027\u2028-\u202f\u2039\u203a\u2e3a\u2e3b\u3000-\u3002\u300c-\u300f-]+',
      ' ', 'g')),
    ' '),
  '');
