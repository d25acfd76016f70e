# src/store/postgres/session/session.c: the lease is counted from the answer, not from the sending
# caught by: fault/slow_answers on postgres
/^void hf_pg_session_extend/,/^}/ s/hf_served_extend(&pg->served, pg->session.sent,/hf_served_extend(\&pg->served, pg->remote.now,/
