# programs/cli/guard/settle.c: processes that leave the command's group by a double fork are not found
# caught by: cli/kills.py
s/prctl(PR_SET_CHILD_SUBREAPER, 1);/(void)0;/
