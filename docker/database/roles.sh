#!/bin/bash
# Runs once, when the database is created: makes the user that the service logs in as, and the one for a standby.
set -euo pipefail
psql --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
\set service_password `cat /run/secrets/service`
\set standby_password `cat /run/secrets/standby`
create role annals_app login password :'service_password';
create role annals_standby login replication password :'standby_password';
SQL
echo "host replication annals_standby all scram-sha-256" >>"$PGDATA/pg_hba.conf"
