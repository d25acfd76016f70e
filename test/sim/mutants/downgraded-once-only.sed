# src/core/hold.c: a second downgrade is forgotten while the first is in flight
/^static void on_standing/,/^}/ s/weight > hf_hold_shape(hold)->weight/weight > HF_ALL/
