# src/core/lease.c: a waiter whose clock is fast ends a session before its lease is over
# caught by: unit/core/lease
/^hf_time hf_lease_longer/,/^}/ s/return .*;/return ttl;/
