# programs/cli/guard/guardian.c: the guardian ignores renewals: it ends the command of a lock that is held
# caught by: cli/deadline
/case GUARD_DEADLINE:/,/break;/ s/timer_set_deadline(.*);/(void)0;/
