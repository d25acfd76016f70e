# programs/cli/serve/serve_lock.c: a lock is freed while another thread asks about it
# caught by: cli/serve.py
s/if (lock->questions == 0)$/if (true)/
