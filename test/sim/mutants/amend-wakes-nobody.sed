# src/store/memory/verbs.c: whoever holds less tells nobody
/^static int amend/,/^}/ s/hf_world_changed(.*);/(void)0;/
