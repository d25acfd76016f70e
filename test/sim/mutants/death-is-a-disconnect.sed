# test/lib/sim/store_link.c: an ended session is reported as a broken connection
s/set_link(sim, HF_LINK_LOST,/set_link(sim, HF_LINK_DOWN,/
