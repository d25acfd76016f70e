# src/client/job.c: a grant is believed although the session may have ended by now
s/if (late && req->status == 0)/if (late \&\& false)/
