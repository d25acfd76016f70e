-- Everything that DIAGNOSE asks, in one query.  Only a role with pg_read_all_stats is shown since
-- when the transaction of another role is open.
--
-- The query runs with the rights of our role, which may be a superuser, and with any search_path.
-- So it names each function and operator with its schema: otherwise it could call another role's.
SELECT 0 AS code,
       pg_catalog.current_setting('server_version') AS version,
       current_user AS user_name,
       pg_catalog.current_database() AS database,
       me.rolsuper AS super,
       pg_catalog.pg_is_in_recovery() AS standby,
       (extract(epoch FROM pg_catalog.clock_timestamp())
           OPERATOR(pg_catalog.*) 1000000)::bigint AS clock,
       (SELECT setting::bigint FROM pg_catalog.pg_settings
        WHERE name OPERATOR(pg_catalog.=) 'idle_session_timeout') AS idle_ms,
       pg_catalog.current_setting('synchronous_commit') AS sync,
       pg_catalog.current_setting('fsync') AS fsync,
       pg_catalog.current_setting('full_page_writes') AS full_pages,
       pg_catalog.current_setting('synchronous_standby_names') AS standby_names,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_replication) AS standbys,
       pg_catalog.current_setting('max_connections')::bigint OPERATOR(pg_catalog.-)
           pg_catalog.current_setting('superuser_reserved_connections')::bigint
           AS most_connections,
       (SELECT pg_catalog.sum(numbackends) FROM pg_catalog.pg_stat_database) AS connections,
       (SELECT numbackends FROM pg_catalog.pg_stat_database
        WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) AS connections_here,
       pg_catalog.pg_notification_queue_usage() AS queue,
       (SELECT pg_catalog.pg_get_userbyid(nspowner) FROM pg_catalog.pg_namespace
        WHERE nspname OPERATOR(pg_catalog.=) 'holdfast') AS owner,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n
            ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
        WHERE nspname OPERATOR(pg_catalog.=) 'holdfast' AND
            (proowner OPERATOR(pg_catalog.<>) nspowner OR NOT prosecdef AND
             pg_catalog.has_function_privilege(p.oid, 'EXECUTE') AND
             nspowner OPERATOR(pg_catalog.<>) me.oid AND NOT me.rolsuper)) AS altered,
       pg_catalog.current_setting('autovacuum') AS autovacuum,
       (SELECT pg_catalog.sum(n_live_tup) FROM pg_catalog.pg_stat_user_tables
        WHERE schemaname OPERATOR(pg_catalog.=) 'holdfast') AS live_rows,
       (SELECT pg_catalog.sum(n_dead_tup) FROM pg_catalog.pg_stat_user_tables
        WHERE schemaname OPERATOR(pg_catalog.=) 'holdfast') AS dead_rows,
       (SELECT pg_catalog.sum(pg_catalog.pg_total_relation_size(relid))
        FROM pg_catalog.pg_stat_user_tables
        WHERE schemaname OPERATOR(pg_catalog.=) 'holdfast')::bigint AS bytes,
       oldest.what AS oldest,
       oldest.age AS oldest_age,
       extract(epoch FROM pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-)
               oldest.since)::bigint AS oldest_seconds,
       overview.*
FROM holdfast.overview($1), pg_catalog.pg_roles me
     -- The oldest snapshot: vacuum cannot remove rows that died since.
     LEFT JOIN LATERAL (
         SELECT pg_catalog.format('a transaction of %s (process %s)', usename, pid) AS what,
                pg_catalog.age(backend_xmin) AS age, xact_start AS since
         FROM pg_catalog.pg_stat_activity
         WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database() AND
             backend_xmin IS NOT NULL AND pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()
         UNION ALL
         SELECT pg_catalog.format('the prepared transaction "%s"', gid),
                pg_catalog.age(transaction), prepared
         FROM pg_catalog.pg_prepared_xacts
         WHERE database OPERATOR(pg_catalog.=) pg_catalog.current_database()
         UNION ALL
         SELECT pg_catalog.format('the standby %s, by its hot_standby_feedback', application_name),
                pg_catalog.age(backend_xmin), NULL
         FROM pg_catalog.pg_stat_replication WHERE backend_xmin IS NOT NULL
         UNION ALL
         SELECT pg_catalog.format('the replication slot "%s"', slot_name),
                pg_catalog.age(xmin), NULL
         FROM pg_catalog.pg_replication_slots WHERE xmin IS NOT NULL
         ORDER BY 2 DESC LIMIT 1) AS oldest ON true
WHERE me.rolname OPERATOR(pg_catalog.=) current_user
