# src/client/handle/release.c: an acquire that is canceled stays in the queue
# caught by: recipe/waiting on memory
/^int hf_plain_cancel/,/^}/ s/hf_lock_post_drop(lock, HF_ECANCELED);/(void)lock;/
