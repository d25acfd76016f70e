# test/lib/far_link.c: a dead session is reported as a broken connection
s/set_link(far, HF_LINK_LOST,/set_link(far, HF_LINK_DOWN,/
