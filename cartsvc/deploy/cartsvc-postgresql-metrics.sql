-- What alerts.yml asks of PostgreSQL, as lines for the textfile collector of node_exporter.
SELECT format('postgresql_%s %s', name, coalesce(value, 0)) FROM (VALUES
  ('archive_waiting_seconds', (
    SELECT extract(epoch FROM clock_timestamp() - min(modification)) FROM pg_ls_archive_statusdir()
      WHERE name LIKE '%.ready' AND NOT pg_is_in_recovery()  -- a standby archives nothing
  )),
  ('slot_bytes', (
    SELECT max(pg_wal_lsn_diff(
      CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
      restart_lsn
    )) FROM pg_replication_slots
  )),
  ('transaction_seconds', (
    SELECT max(extract(epoch FROM clock_timestamp() - xact_start)) FROM pg_stat_activity
      WHERE backend_type = 'client backend'
  )),
  ('transactions_unfrozen', (SELECT max(age(datfrozenxid)) FROM pg_database)),
  ('connections', (
    SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
  )),
  ('connections_allowed',
    current_setting('max_connections')::int
      - current_setting('superuser_reserved_connections')::int
  )
) AS told (name, value);
