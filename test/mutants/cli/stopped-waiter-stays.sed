# programs/cli/run/take.c: a waiter stopped by Ctrl-Z stays in the queue, and is granted the lock
# caught by: cli/stopped.py
/^static void pause_wait/,/^}/ s/    leave_line(taking);/    (void)leave_line;/
