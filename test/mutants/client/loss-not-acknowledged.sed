# src/client/handle/acquire.c: a lock that was lost when it was granted cannot be acquired again by its handle
# caught by: unit/client/handle/owner
/^static void acknowledge_loss/,/^}/ s/if (hf_state(lock) != HF_LOST)/if (hf_state(lock) != HF_WAITING)/
