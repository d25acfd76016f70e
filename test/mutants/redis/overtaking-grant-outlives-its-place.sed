# src/store/redis/session/reclaim.c: a grant that overtook the answer to its ENTER counts after all data are lost
# caught by: redis/flush
/hf_served_forget_overtaking/d
