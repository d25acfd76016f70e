# src/core/hold.c: a second lessening while the first is under way is forgotten
/^static void on_standing/,/^}/ s/weight > hf_hold_shape(hold)->weight/weight > HF_ALL/
