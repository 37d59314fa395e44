-- In the database of a PostgreSQL sink: creates the tables of records and cursors, if they are missing. If the login may not create
-- tables, the database's operator creates them from docs/streaming.md.
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
