# programs/cli/guard/session_guardian.c: if hold is killed its lock is given up while the program that uses it lives
# caught by: fault/killed_hold.py on redis
/^static _Noreturn void guard_hold/,/^}/ s/(!held || all_gone_by(&users, deadline))/(!held || users.process != -2)/
