# programs/cli/serve/out_queue.c: a slow reader gets every old deadline, and the queue grows
# caught by: cli/serve.py
s/if (kind == OUT_SINGLE || out->replaceable == 0)/if (true)/
