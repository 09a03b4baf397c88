# The secret is read by root, who can. All else is done by postgres.
set -e
if [ "$(id -u)" = 0 ]; then
  install -d -o postgres -m 700 "$PGDATA"
  PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
  export PASSWORD
  exec setpriv --reuid=postgres --regid=postgres --init-groups sh "$0" "$@"
fi
if [ ! -e "$PGDATA/PG_VERSION" ]; then
  echo "$PASSWORD" > /tmp/password
  initdb -U "$POSTGRES_USER" --pwfile=/tmp/password $POSTGRES_INITDB_ARGS
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  pg_ctl start -o '-h ""'
  createdb -U "$POSTGRES_USER" "$POSTGRES_USER"
  pg_ctl stop
fi
exec "$@"
