# programs/cli/serve/serve_lock.c: releasing a lock whose time is over is a success
# caught by: cli/serve.py
s/released(serve, lock, lost ? HF_ELOST : r);/released(serve, lock, r);/
