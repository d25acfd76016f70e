# test/sim/group.c: an eager group keeps its places behind the part that it waits for
s/^        give_up_behind(sim, group, first);/        (void)give_up_behind;/
