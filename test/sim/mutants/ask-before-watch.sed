# src/store/memory/queue.c: word left before WATCH arrived is not heard
s/if (watch->mine != NULL && watch->mine->asked_at > since)/if (false)/
