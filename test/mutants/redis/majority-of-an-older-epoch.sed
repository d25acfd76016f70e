# src/store/redis/wire/sentinel.c: a majority for the server counts, whatever its config epoch
# caught by: redis/sentinel_back
/sentinel->master.config_epoch == master->config_epoch &&/d
