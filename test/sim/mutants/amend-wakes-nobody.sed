# src/store/memory/amend.c: whoever holds less tells nobody
/^int hf_world_amend/,/^}/ s/hf_world_changed(.*);/(void)0;/
