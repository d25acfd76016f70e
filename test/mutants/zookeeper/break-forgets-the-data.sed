# src/store/zookeeper/others.c: BREAK deletes the data of the folder, which belong to other programs
# caught by: zookeeper/broken_release
/^static void on_folder_read/,/^}/ s/hf_zk_multi_set(zk, task->line->folder, text, stat.version);/hf_zk_multi_set(zk, task->line->folder, (struct hf_zk_text){ "", 0 }, stat.version);/
