"""redis.py - a Redis for a test: prints its address, and ends with stdin."""
import signal
import sys

sys.path.insert(0, f"{sys.argv[1]}/test/server")
import redis  # noqa: E402

try:
    with redis.standalone() as server:
        print(server.address, flush=True)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        sys.stdin.read()
except redis.Missing as reason:
    print(reason, file=sys.stderr)
