# src/client/job.c: an answer is believed although the session may be dead by now
s/if (late && req->status == 0)/if (late \&\& false)/
