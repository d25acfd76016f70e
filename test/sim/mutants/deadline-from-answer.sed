# src/store/memory/link.c: the lease is counted from the answer
s/^        confirmed(memory, answer);/        memory->sent = now, confirmed(memory, answer);/
