# src/store/memory/world.c: what an older connection sent still takes effect
s/if (ask->connection != session->connection)/if (ask->connection > session->connection)/
