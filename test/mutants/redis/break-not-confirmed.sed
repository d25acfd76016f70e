# src/store/served/verbs.c: with replicas=, a break succeeds before any replica has it
# caught by: redis/failover
/^static void on_found/,/^}/ s/ && req->op == HF_BREAK && served->confirms/ \&\& served->only_ends/
