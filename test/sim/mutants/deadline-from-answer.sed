# test/lib/sim/store_link.c: the lease is counted from the answer, not from the sending
s/^        confirmed(sim, answer);/        sim->sent = now, confirmed(sim, answer);/
