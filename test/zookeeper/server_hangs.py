#!/usr/bin/env -S python3 -B
"""server_hangs - a server that does not answer for a while ends no command.

HF_HANG_SESSION (15, the default of a URL), HF_HANG (5): seconds.  HF_HANG_HOLDERS (12): how
many runs there are, with heartbeats at different times.  HF_HANG_ENDED: how many of them may
end; with another session or hang, this measures what a command survives.
"""

from holders import *  # noqa: F403

SESSION = float(os.environ.get("HF_HANG_SESSION", "15"))
HANG = float(os.environ.get("HF_HANG", "5"))
HOLDERS = int(os.environ.get("HF_HANG_HOLDERS", "12"))
ENDED = int(os.environ.get("HF_HANG_ENDED", "0"))
SERVER = None


@case
def no_command_ends(t):
    t.env["HOLDFAST_URL"] = url(SERVER, f"{SESSION:g}")
    holders = []
    for number in range(HOLDERS):
        holders.append(t.start("run", f"hang-{number}", "--", "sleep", "1000"))
        time.sleep(SESSION * 2 / 15 / HOLDERS)
    t.until("all hold", lambda: SERVER[1].word("cons").count("sid=") == HOLDERS)
    time.sleep(SESSION / 2)  # the first deadline is later than the others
    SERVER[1].freeze()
    time.sleep(HANG)
    SERVER[1].thaw()
    time.sleep(SESSION / 4)  # a command that got a signal has ended by now
    ended = [holder for holder in holders if holder.poll() is not None]
    print(f"# session {SESSION:g} s, a hang of {HANG:g} s: {len(ended)} of {HOLDERS} ended")
    t.true(len(ended) <= ENDED, "commands ended")
    for holder in holders:
        if holder not in ended:
            t.end(holder)


if __name__ == "__main__":
    with store("zk"), zookeeper.standalone(tick=2000) as SERVER:
        hf.main()
