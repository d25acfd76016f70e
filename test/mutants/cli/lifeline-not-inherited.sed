# programs/cli/guard/child.c: holdfast and guardian killed together: a process of the command runs on without the lock
# caught by: cli/lifeline.py
s/(plan->close || hand_down(go) == 0)/(plan->close || hand_down != NULL)/
