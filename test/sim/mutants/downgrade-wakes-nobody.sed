# src/store/memory/verbs.c: DOWNGRADE notifies nobody
/^static int downgrade/,/^}/ s/hf_world_changed(.*);/(void)0;/
