# src/store/zookeeper/others.c: BREAK does not write to the folder
# caught by: zookeeper/broken_release
/^static void on_folder_read/,/^}/ s/hf_zk_multi_set(zk, task->line->folder, text, stat.version);/hf_zk_multi_check(zk, task->line->folder);/
