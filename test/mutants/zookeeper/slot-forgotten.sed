# src/store/zookeeper/line/recover.c: a slot whose answer was lost is not found again
# caught by: zookeeper/lost_answers
/^static void on_companion_read/,/^}/ s/? HF_ZK_THERE : HF_ZK_NOWHERE/\&\& false &/
