# src/core/hold.c: a release succeeds whatever the store answers
/^static void on_left/,/^}/ s/hold->why != 0 ? hold->why : why/hold->why/
