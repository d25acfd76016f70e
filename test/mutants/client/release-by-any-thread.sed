# src/client/handle/release.c: a thread releases what another thread holds
# caught by: recipe/mutex_threads on memory
/^int hf_lock_check_release/,/^}/ s/if (hf_owner_is_other(&lock->owner))/if (false)/
