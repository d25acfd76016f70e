# src/client/job.c: an answer is used although the job wants something else by now
s/if (!wanted || req->status == HF_ECANCELED)/if (req->status == HF_ECANCELED)/
