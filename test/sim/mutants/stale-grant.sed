# src/client/job.c: an answer is believed although the session may be dead by now
s/bool late = .*;/bool late = false;/
