# programs/cli/run/outcome.c: a run that lost its lock exits with the code of its command
# caught by: cli/guardian.py
s/out.code = out.end == RUN_ENDED ? end_under_lock(s, released) : EXIT_LOST;/out.code = end_under_lock(s, released);/
