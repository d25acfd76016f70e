# test/lib/sim/network.c: messages of an older connection still take effect
s/if (message->connection != session->connection)/if (message->connection > session->connection)/
