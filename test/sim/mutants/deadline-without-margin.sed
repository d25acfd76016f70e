# src/core/lease.c: clocks are taken to run alike
/^hf_time hf_lease_shorter/,/^}/ s/return .*;/return ttl;/
