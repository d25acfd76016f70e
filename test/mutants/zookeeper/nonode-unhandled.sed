# src/store/zookeeper/enter.c: a folder that does not exist, or was just removed by the server, makes ENTER fail
# caught by: promise/s2_once on zookeeper
/^static void on_listed_in_line/,/^}/ s/task->error == HF_ZK_NO_NODE \&\& ++task->step < TRIES/false/
