# programs/cli/guard/guard_key.c: the guardian of a killed holdfast lets the session run until its lease ends
# caught by: fault/killed_command.py on redis
/^void kept_key_end_session/,/^}/ s/if (kept->size == 0)/if (kept->size != 1)/
