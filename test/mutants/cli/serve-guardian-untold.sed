# programs/cli/serve/serve.c: if the helper is killed, its locks are given away while the program works
# caught by: fault/killed_serve.py on redis
s/serve->held > 0 ? serve->deadline : 0);/0);/
