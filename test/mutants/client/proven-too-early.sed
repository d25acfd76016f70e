# src/core/lease.c: a write proves an answer that came just before it, which the leader may not have seen
# caught by: unit/core/lease_sim
s/mark->answered + lease->timeout \/ 4 + 2 \* slowest + 20 \* HF_MS;/mark->answered + 0 * slowest;/
