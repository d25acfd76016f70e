# src/client/job.c: a waiter that is woken goes on sleeping
s/^    hf_job_step(job, &(struct hf_event){ \.what = HF_STANDING, .*/    if (req->op == HF_WATCH \&\& now.state == HF_STAND_HOLDS)\
        return;\
&/
