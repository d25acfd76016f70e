# src/core/lease.c: a session that got a shorter timeout with a new connection keeps its later deadline
# caught by: zookeeper/session_timeout_changes.py
/^void hf_lease_quorum_connected/,/^}/ s/if (timeout >= lease->timeout)/if (timeout > 0)/
