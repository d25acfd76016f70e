# src/client/job.c: a wait with a time limit goes on for ever
s/if (waits(job) && now >= job->deadline)/if (waits(job) \&\& job->deadline < 0)/
