# src/store/sqlite/verify.c: a token is proven by its row alone, although its owner is dead
# caught by: sqlite/death
/^static int verify_place/,/^}/ s/if (r == 1 \&\& hf_sq_live_is_locked(&sq->live, seq))/if (r == 1)/
