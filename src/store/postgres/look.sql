-- What EXAMINE asks, in one go; of activity the server shows each user his own alone, unless
-- he has pg_read_all_stats.
SELECT current_setting('server_version') AS version,
       current_user AS user_name,
       current_database() AS database,
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS super,
       pg_is_in_recovery() AS standby,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS clock,
       (SELECT setting::bigint FROM pg_settings WHERE name = 'idle_session_timeout') AS idle_ms,
       current_setting('synchronous_commit') AS sync,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_pages,
       current_setting('synchronous_standby_names') AS standby_names,
       (SELECT count(*) FROM pg_stat_replication) AS standbys,
       current_setting('max_connections')::bigint -
           current_setting('superuser_reserved_connections')::bigint AS most_connections,
       (SELECT sum(numbackends) FROM pg_stat_database) AS connections,
       (SELECT numbackends FROM pg_stat_database
        WHERE datname = current_database()) AS connections_here,
       pg_notification_queue_usage() AS queue,
       (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'holdfast') AS owner,
       (SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE nspname = 'holdfast' AND (proowner <> nspowner OR NOT prosecdef AND
            has_function_privilege(p.oid, 'EXECUTE') AND
            nspowner <> (SELECT oid FROM pg_roles WHERE rolname = current_user) AND NOT
            (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))) AS strange,
       current_setting('autovacuum') AS autovacuum,
       (SELECT sum(n_live_tup) FROM pg_stat_user_tables
        WHERE schemaname = 'holdfast') AS live_rows,
       (SELECT sum(n_dead_tup) FROM pg_stat_user_tables
        WHERE schemaname = 'holdfast') AS dead_rows,
       (SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables
        WHERE schemaname = 'holdfast')::bigint AS bytes,
       extract(epoch FROM clock_timestamp() - least(
           (SELECT min(xact_start) FROM pg_stat_activity
            WHERE datname = current_database() AND backend_xmin IS NOT NULL
            AND pid <> pg_backend_pid()),
           (SELECT min(prepared) FROM pg_prepared_xacts
            WHERE database = current_database()))) AS oldest,
       pg_has_role('pg_read_all_stats', 'USAGE') AS sees_all,
       look.*
FROM holdfast.look($1)
