-- In the database of a PostgreSQL sink, if they are not there yet: the records that were delivered, and where each stream stands. A login
-- without the right to create tables gets them from somebody else; docs/streaming.md has them as well.
do $$
begin
  if to_regclass('annals_record') is null then
    create table annals_record (
      project_id   uuid         not null,
      sequence_id  bigint       not null,
      record       jsonb        not null,
      delivered_at timestamptz  not null default now(),
      primary key (project_id, sequence_id)
    );
  end if;
  if to_regclass('annals_cursor') is null then
    create table annals_cursor (
      stream_id    uuid         not null,
      project_id   uuid         not null,
      rewinds      integer      not null,
      cursor       text         not null,
      primary key (stream_id, project_id)
    );
  end if;
end $$
