#!/usr/bin/env python3
"""partition - the network is cut: an old holder stops before a new one is let in.

Three servers in network namespaces, with ticks as shipped (2 s), and sessions of 4 s, the
shortest that they allow.  All processes share one clock, so it can be said exactly by how
much the old holder's deadline comes before the new holder's grant.

HF_CUTS: how often a follower is cut off together with its client (1).  HF_CUT_HANDS: how
many old holders there are at each cut (3).
"""
import statistics

from hands import *  # noqa: F403

CUTS = int(os.environ.get("HF_CUTS", "1"))
HANDS = int(os.environ.get("HF_CUT_HANDS", "3"))
SESSION = 4
LONG = 8  # where a busy machine must not take anything away
LATE = 2  # seconds, on a busy machine
OLD, NEW, DUMB, DEAF = 4, 5, 6, 7  # places for clients
cluster = None


def roles():
    """(leader, a follower, the other)"""
    heal()
    leader = cluster.leader()
    first, second = random.sample(sorted({1, 2, 3} - {leader}), 2)
    return leader, first, second


def heal():
    cluster.network.heal()
    cluster.wait(90)


def at(number):
    return cluster.network.inside(number)


def servers(*numbers, session=SESSION):
    return url([cluster[number] for number in numbers], session)


def connected_to(place):
    """The server that a client there uses."""
    client = f"/{cluster.network.host(place)}:"
    return next(number for number in (1, 2, 3) if client in cluster[number].word("cons"))


class Pairs:
    """Old holders, and for each of their locks one who wants it."""

    def __init__(self, t, old, old_servers, new_servers, count=1, new=NEW, **more):
        self.test = t
        names = [random_name() for _ in range(count)]
        self.old = []
        for name in names:  # their heartbeats are not to come together
            self.old.append(Hand(t, "hold", servers(*old_servers, **more), name, inside=at(old)))
            self.old[-1].hears("held")
            time.sleep(random.uniform(0, SESSION / 6))
        self.new = [Hand(t, "hold", servers(*new_servers, **more), name, inside=at(new))
                    for name in names]
        self.tokens = [hand.said("held")[0][1] for hand in self.old]

    def check(self):
        """Every old one stopped before the new one began; returns (deadline, grant)s."""
        found = []
        for old, new, token in zip(self.old, self.new, self.tokens):
            grant, next_token = new.hears("held")
            lost, deadline, code = old.hears("lost")
            self.test.equal(code, "HF_ELOST", "release")
            self.test.true(deadline < grant, f"two holders for {deadline - grant:.3f} s")
            self.test.true(lost < deadline + LATE, f"LOST {lost - deadline:.3f} s late")
            self.test.true(next_token > token, "the token falls")
            found.append((deadline, grant))
        for new in self.new:
            self.test.equal(new.let_go(), "0", "release")
        return found

    def check_kept(self):
        for old, new in zip(self.old, self.new):
            self.test.true(old.is_kept() and not new.said("held"), "it was lost")
            self.test.equal(old.let_go(), "0", "release")
        for new in self.new:
            new.hears("held")
            self.test.equal(new.let_go(), "0", "release")


def quiet(*several):
    """So that they are cut at any phase of their heartbeats."""
    time.sleep(random.uniform(2, 4))
    for pairs in several:
        for hand in pairs.old:
            hand.belief()


def tell(cut_at, found):
    for deadline, grant in found:
        print(f"# after the cut: deadline {deadline - cut_at:.2f} s, grant {grant - cut_at:.2f} s,"
              f" margin {grant - deadline:.2f} s")


def cut(*parts, **more):
    """Returns when."""
    before = now()
    cluster.network.cut(*parts, **more)
    return before


# ---- Followers ------------------------------------------------------------------------


class Pinger:
    """What others do: pings, and the word of a server that answers them."""

    def __init__(self, number):
        with cluster.network.entering(number):
            self.zk = zkwire.Client(cluster[number].address, SESSION * 1000, timeout=0.3)
        self.zk.link.settimeout(0.3)
        self.last = now()

    def ping(self, limit):
        """Until there is no answer; returns when the last answered one was sent."""
        end = now() + limit
        while now() < end:
            sent = now()
            try:
                self.zk._ask(11, b"", "ping", xid=-2)
                self.last = sent
            except (OSError, zkwire.Error):
                self.zk.abandon()
                break
            time.sleep(0.05)
        return self.last


def cut_follower_with_client(t, count):
    leader, follower, other = roles()
    pairs = Pairs(t, follower, [follower], [leader, other], count)
    quiet(pairs)
    pinger = Pinger(follower)
    cut_at = cut(follower, sorted({1, 2, 3, OLD, NEW} - {follower}))
    answered = pinger.ping(limit=30)
    found = pairs.check()
    return cut_at, found, answered


@case
def a_follower_is_cut_off_with_its_client(t):
    margins, worked, naive = [], [], []
    for number in range(CUTS):
        cut_at, found, answered = cut_follower_with_client(t, HANDS)
        margins += [grant - deadline for deadline, grant in found]
        worked += [deadline - cut_at for deadline, _ in found]
        naive += [grant - (answered + SESSION) for _, grant in found]
        tell(cut_at, found)
        print(f"# pings were answered until {answered - cut_at:.2f} s, so a deadline of"
              f" ping + {SESSION} s is {max(answered + SESSION - g for _, g in found):.2f} s late")
    heal()
    print(f"# {CUTS} cuts, {len(margins)} holders: margin {min(margins):.3f} s at least,"
          f" {statistics.median(margins):.3f} median, {max(margins):.3f} at most; worked on for"
          f" {min(worked):.3f} to {max(worked):.3f} s; the plain rule was wrong in"
          f" {sum(margin < 0 for margin in naive)} of {len(naive)}")


@case
def the_follower_cannot_speak_to_its_leader(t):
    leader, follower, other = roles()
    pairs = Pairs(t, follower, [follower], [leader, other])
    quiet(pairs)
    cut_at = cut(follower, [leader, other], one_way=True)
    tell(cut_at, pairs.check())
    heal()


@case
def the_follower_cannot_hear_its_leader(t):
    leader, follower, other = roles()
    pairs = Pairs(t, follower, [follower], [leader, other])
    quiet(pairs)
    cut_at = cut([leader, other], follower, one_way=True)
    tell(cut_at, pairs.check())
    heal()


# ---- Clients ----------------------------------------------------------------------------


@case
def clients_alone_are_cut_off_cannot_speak_or_cannot_hear(t):
    roles()
    everywhere = [1, 2, 3], [1, 2, 3]
    several = [Pairs(t, place, *everywhere) for place in (OLD, DUMB, DEAF)]
    quiet(*several)
    cut_at = cut(OLD, [1, 2, 3])
    cut(DUMB, [1, 2, 3], one_way=True)
    cut([1, 2, 3], DEAF, one_way=True)
    for pairs in several:
        tell(cut_at, pairs.check())
    heal()


@case
def a_cut_that_heals_in_time_and_one_that_leaves_a_server(t):
    """Who can reach one server keeps its lock, and so does who can again soon enough."""
    roles()
    everywhere = [1, 2, 3], [1, 2, 3]
    one, again = [Pairs(t, place, *everywhere, session=LONG) for place in (OLD, DEAF)]
    quiet(one, again)
    cut(DEAF, [1, 2, 3])
    time.sleep(0.7)
    cluster.network.heal()
    used = connected_to(OLD)
    cut(OLD, [used, random.choice(sorted({1, 2, 3} - {used}))])
    time.sleep(LONG + 2)  # more than they could live without
    one.check_kept()
    again.check_kept()
    heal()


# ---- The leader ---------------------------------------------------------------------------


@case
def the_leader_is_cut_off_with_clients(t):
    """One that runs where it runs, and one elsewhere that can reach it still."""
    leader, *others = roles()
    several = [Pairs(t, place, [leader], others) for place in (leader, OLD)]
    quiet(*several)
    cut_at = cut(leader, [*others, NEW])
    for pairs in several:
        tell(cut_at, pairs.check())
    heal()


if __name__ == "__main__":
    with store("zk"), netns.servers(3, clients=4) as cluster:
        hf.main()
