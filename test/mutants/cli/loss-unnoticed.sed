# programs/cli/run/supervise.c: holdfast does not notice that the lock of a running command was broken
# caught by: cli/guardian.py
/^static void look_at_lock/,/^}/ s/if (hf_state(s->lock) != HF_HELD) {/if (false) {/
