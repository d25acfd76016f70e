# src/store/mariadb/session/session.c: the lease is counted from the answer, not from the sending
# caught by: fault/slow_answers on mariadb
/^void hf_maria_session_extend/,/^}/ s/hf_served_extend(&maria->served, maria->session.sent,/hf_served_extend(\&maria->served, maria->remote.now,/
