# test/sim/group.c: when one part of a group fails, the others are not released
/^static void take/,/^}/ s/^        give(group);/        group->state = GROUP_REST;/
