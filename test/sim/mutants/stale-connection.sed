# test/lib/net.c: what an older connection sent still takes effect
s/if (letter->connection != session->connection)/if (letter->connection > session->connection)/
