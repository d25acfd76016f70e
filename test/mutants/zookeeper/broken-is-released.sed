# src/store/zookeeper/leave.c: a place that is not found again counts as released, although it may have been broken
# caught by: zookeeper/broken_release
/^static void leave_recovered/,/^}/ s/task->line->written > own->token/false/
