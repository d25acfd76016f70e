# src/client/handle/published.c: the descriptor of hf_lost_fd() is readable only when the engine notices the loss
# caught by: unit/client/handle/published
/^static void set_alarm/,/^}/ s/else if (state == HF_HELD \&\& until != HF_NEVER) {/else if (false) {/
