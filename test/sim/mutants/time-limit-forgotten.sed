# src/client/job.c: a wait ignores its time limit
s/if (waits(job) && now >= job->deadline)/if (waits(job) \&\& job->deadline < 0)/
