# src/client/job.c: whoever is woken while waiting goes on sleeping
s/^\( *\)hf_job_tell(job, &(struct hf_event){ \.what = HF_WOKEN });/\1if (job->hold.state == HF_HOLD_HELD)\n    &/
