# test/lib/far_link.c: the lease is counted from the answer
s/^        confirmed(far, answer);/        far->sent = now, confirmed(far, answer);/
