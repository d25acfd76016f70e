# test/sim/group.c: several asked for at once keep the places behind one they wait for
s/^        give_up_behind(sim, group, first);/        (void)give_up_behind;/
