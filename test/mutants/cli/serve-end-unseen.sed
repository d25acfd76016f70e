# programs/cli/serve/serve_input.c: with a full queue the end of stdin is not noticed
# caught by: cli/serve.py
s/serve->ended |= (events & (POLLRDHUP | POLLHUP | POLLERR)) != 0;/(void)events;/
