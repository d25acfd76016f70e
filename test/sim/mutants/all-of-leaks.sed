# test/sim/group.c: when one of several fails, the others are forgotten
/^static void take/,/^}/ s/^        give(group);/        group->state = GROUP_REST;/
