#!/bin/bash
# Copies the database at the first start, and follows it from then on.
set -euo pipefail
PGPASSWORD=$(cat /run/secrets/standby)
export PGPASSWORD
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  slot=(--create-slot)
  # A first start that was cut short left its slot behind.
  if psql --host=database --username=annals_standby --dbname=postgres --tuples-only --command="select slot_name from pg_replication_slots" | grep -q standby; then
    slot=()
  fi
  mkdir -p "$PGDATA"
  # PostgreSQL refuses a directory that others can read.
  chmod 0700 "$PGDATA"
  pg_basebackup --host=database --username=annals_standby --pgdata="$PGDATA" --wal-method=stream --checkpoint=fast \
    --write-recovery-conf --slot=standby "${slot[@]}"
fi
exec postgres -c hot_standby=on
