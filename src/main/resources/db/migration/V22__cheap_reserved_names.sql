-- A check of an action costs an INSERT next to nothing. PostgreSQL puts a function that is not strict in the place of its call, and an
-- action in ASCII needs no skeleton: the pattern has what the skeleton makes of each of its characters.
create or replace function annals.is_reserved(action text) returns boolean
language sql immutable parallel safe
return case
  when ascii(action) between 33 and 126 and ascii(action) <> all (array[65, 97]) then false
  when octet_length(action) = length(action) then action collate "C" ~
    '^[^!-~]*[Aa][^!-~]*[Nn][^!-~]*[Nn][^!-~]*[Aa][^!-~]*[1ILl|][^!-~]*[Ss][^!-~]*\.'
  else starts_with(annals.skeleton(action), 'annals.')
end;
