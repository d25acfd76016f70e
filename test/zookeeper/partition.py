#!/usr/bin/env python3
"""partition - the network is cut: the old holder stops before the new one gets the lock.

Three servers in network namespaces, with the default ticks (2 s), and sessions of 4 s, the
shortest that they allow.  All processes share one clock, so the test can measure by how
much the old holder's deadline precedes the new holder's grant.

HF_CUTS: how often a follower is cut off together with its client (1).  HF_CUT_HOLDERS: how
many old holders there are at each cut (3).
"""
import statistics

from holders import *  # noqa: F403

CUTS = int(os.environ.get("HF_CUTS", "1"))
HOLDERS = int(os.environ.get("HF_CUT_HOLDERS", "3"))
SESSION = 4
LONG = 8  # for cases in which a busy machine must not lose the lock
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
    """The server that the client at that place uses."""
    client = f"/{cluster.network.host(place)}:"
    return next(number for number in (1, 2, 3) if client in cluster[number].word("cons"))


class Pairs:
    """Old holders, and a waiter for each of their locks."""

    def __init__(self, t, old, old_servers, new_servers, count=1, new=NEW, **more):
        self.test = t
        names = [random_name() for _ in range(count)]
        self.old = []
        for name in names:  # their heartbeats must not coincide
            self.old.append(Holder(t, "hold", servers(*old_servers, **more), name, inside=at(old)))
            self.old[-1].until_says("held")
            time.sleep(random.uniform(0, SESSION / 6))
        self.new = [Holder(t, "hold", servers(*new_servers, **more), name, inside=at(new))
                    for name in names]

    def check(self):
        """Every old holder has lost its lock to the new one; returns (deadline, grant)s.  The checker sees
        whether it stopped in time."""
        found = []
        for old, new in zip(self.old, self.new):
            grant, _ = new.until_says("held")
            lost, deadline, code = old.until_says("lost")
            self.test.equal(code, "HF_ELOST", "release")
            self.test.true(lost < deadline + LATE, f"LOST {lost - deadline:.3f} s late")
            found.append((deadline, grant))
        for new in self.new:
            self.test.equal(new.release(), "0", "release")
        return found

    def check_kept(self):
        for old, new in zip(self.old, self.new):
            self.test.true(old.is_kept() and not new.said("held"), "it was lost")
            self.test.equal(old.release(), "0", "release")
        for new in self.new:
            new.until_says("held")
            self.test.equal(new.release(), "0", "release")


def quiet(*several):
    """Wait, so that the cut comes at any phase of their heartbeats."""
    time.sleep(random.uniform(2, 4))
    for pairs in several:
        for holder in pairs.old:
            holder.belief()


def tell(cut_at, found):
    for deadline, grant in found:
        print(f"# after the cut: deadline {deadline - cut_at:.2f} s, grant {grant - cut_at:.2f} s,"
              f" margin {grant - deadline:.2f} s")


def cut(*parts, **more):
    """Returns the time of the cut."""
    before = now()
    cluster.network.cut(*parts, **more)
    return before


# ---- Followers ------------------------------------------------------------------------


class Pinger:
    """What other clients do: send pings, and trust a server that answers them."""

    def __init__(self, number):
        with cluster.network.entering(number):
            self.zk = zkwire.Client(cluster[number].address, SESSION * 1000, timeout=0.3)
        self.zk.link.settimeout(0.3)
        self.last = now()

    def ping(self, limit):
        """Ping until there is no answer; returns when the last answered ping was sent."""
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
        cut_at, found, answered = cut_follower_with_client(t, HOLDERS)
        margins += [grant - deadline for deadline, grant in found]
        worked += [deadline - cut_at for deadline, _ in found]
        naive += [grant - (answered + SESSION) for _, grant in found]
        tell(cut_at, found)
        print(f"# pings were answered until {answered - cut_at:.2f} s, so a deadline of"
              f" ping + {SESSION} s is {max(answered + SESSION - g for _, g in found):.2f} s late")
    judge(t)
    heal()
    print(f"# {CUTS} cuts, {len(margins)} holders: margin {min(margins):.3f} s at least,"
          f" {statistics.median(margins):.3f} median, {max(margins):.3f} at most; worked on for"
          f" {min(worked):.3f} to {max(worked):.3f} s; the plain rule was wrong in"
          f" {sum(margin < 0 for margin in naive)} of {len(naive)}")


@case
def a_follower_cannot_send_to_its_leader(t):
    leader, follower, other = roles()
    pairs = Pairs(t, follower, [follower], [leader, other])
    quiet(pairs)
    cut_at = cut(follower, [leader, other], one_way=True)
    tell(cut_at, pairs.check())
    judge(t)
    heal()


@case
def a_follower_cannot_receive_from_its_leader(t):
    leader, follower, other = roles()
    pairs = Pairs(t, follower, [follower], [leader, other])
    quiet(pairs)
    cut_at = cut([leader, other], follower, one_way=True)
    tell(cut_at, pairs.check())
    judge(t)
    heal()


# ---- Clients ----------------------------------------------------------------------------


@case
def clients_are_cut_off_in_one_or_both_directions(t):
    roles()
    everywhere = [1, 2, 3], [1, 2, 3]
    several = [Pairs(t, place, *everywhere) for place in (OLD, DUMB, DEAF)]
    quiet(*several)
    cut_at = cut(OLD, [1, 2, 3])
    cut(DUMB, [1, 2, 3], one_way=True)
    cut([1, 2, 3], DEAF, one_way=True)
    for pairs in several:
        tell(cut_at, pairs.check())
    judge(t)
    heal()


@case
def locks_survive_a_short_cut_and_one_that_leaves_a_server(t):
    """A client that can reach one server keeps its lock; so does one that can again soon enough."""
    roles()
    everywhere = [1, 2, 3], [1, 2, 3]
    one, again = [Pairs(t, place, *everywhere, session=LONG) for place in (OLD, DEAF)]
    quiet(one, again)
    cut(DEAF, [1, 2, 3])
    time.sleep(0.7)
    cluster.network.heal()
    used = connected_to(OLD)
    cut(OLD, [used, random.choice(sorted({1, 2, 3} - {used}))])
    time.sleep(LONG + 2)  # longer than a session lives without a server
    one.check_kept()
    again.check_kept()
    judge(t)
    heal()


# ---- The leader ---------------------------------------------------------------------------


@case
def the_leader_is_cut_off_with_clients(t):
    """One client on the leader's host, and one elsewhere that can still reach the leader."""
    leader, *others = roles()
    several = [Pairs(t, place, [leader], others) for place in (leader, OLD)]
    quiet(*several)
    cut_at = cut(leader, [*others, NEW])
    for pairs in several:
        tell(cut_at, pairs.check())
    judge(t)
    heal()


if __name__ == "__main__":
    with store("zk"), netns.servers(3, clients=4) as cluster:
        hf.main()
