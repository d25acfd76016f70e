# src/store/zookeeper/line/line.c: without memory to listen to a place ahead again, that place counts as gone
# caught by: zookeeper/out_of_memory
/^static void on_place_news/,/^}/ s/if (news == HF_ZK_NEWS_GONE) {/if (news != HF_ZK_NEWS_UNREADABLE) {/
