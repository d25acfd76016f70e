# src/store/memory/link.c: a dead session is reported as a broken connection
s/set_link(memory, HF_LINK_LOST,/set_link(memory, HF_LINK_DOWN,/
