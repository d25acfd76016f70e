# src/store/memory/world.c: what an older connection sent still takes effect
s/if (call->connection != session->connection)/if (call->connection > session->connection)/
