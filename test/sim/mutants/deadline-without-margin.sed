# src/core/lease.c: the deadline allows for no drift of clocks
/^hf_time hf_lease_shorter/,/^}/ s/return .*;/return ttl;/
