# programs/cli/guard/guardian.c: if holdfast is killed, --hold-at-least is forgotten
# caught by: cli/linger.py
/^static _Noreturn void exit_and_end_session/,/^}/ s/    wait_until(g->hold_until);/    (void)wait_until;/
