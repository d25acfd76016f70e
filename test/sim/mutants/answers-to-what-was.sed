# src/client/job.c: an answer is taken although something else is wanted by now
s/if (!wanted || req->status == HF_ECANCELED)/if (req->status == HF_ECANCELED)/
