#!/bin/bash
# Runs once, when the database is made: the user that the service logs in as, and the one that a standby follows as.
set -euo pipefail
psql --set=ON_ERROR_STOP=1 --set=password="$POSTGRES_PASSWORD" --set=service_password="$ANNALS_SERVICE_PASSWORD" \
  --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
create role annals_app login password :'service_password';
create role annals_standby login replication password :'password';
SQL
echo "host replication annals_standby all scram-sha-256" >>"$PGDATA/pg_hba.conf"
