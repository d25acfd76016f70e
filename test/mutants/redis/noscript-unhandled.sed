# src/store/redis/task.c: a script that the server does not know is not loaded
# caught by: redis/outage.py
/^static void on_reply/,/^}/ s/hf_redis_script_load(redis, task->script);/(void)task->script;/
