# src/client/job.c: whoever is woken while waiting goes on sleeping
s/^    hf_job_tell(job, &(struct hf_event){ \.what = HF_STANDING, .*/    if (req->op == HF_WATCH \&\& now.state == HF_STAND_HOLDS)\
        return;\
&/
