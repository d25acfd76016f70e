# programs/cli/guard/guardian.c: --max-run does not end the command
# caught by: cli/limits.py
s/if (g->plan->max_run_ns > 0)/if (g->plan->max_run_ns < 0)/
