#!/usr/bin/env -S python3 -B
"""doctor - the findings of doctor about ZooKeeper servers, and about a lock's folder."""
import contextlib
import json
import re
import socket
import struct
import threading
import uuid

import txnlog
from holders import *  # noqa: F403
from nonsense import can_be_broken, is_in_the_way

END = 2**31 - 1  # of a folder's numbers
cluster = None


def zk(rest=""):
    return f"zk://{cluster.address}{rest}"


# ---- Servers -----------------------------------------------------------------------------------


@case
def one_server(t):
    found = findings(t, zk("?session=30s"))
    t.equal(levels(found), {"ensemble": "warn", "acl": "warn"})
    t.true(re.fullmatch(rf"{cluster.address}, ZooKeeper 3\.\d+\.\d+, standalone", found["server"]["text"]),
           found["server"]["text"])
    t.contains(found["session"]["text"], "30 s, requested 30 s")
    t.true(re.search(r"surely ours for (2\d|30)\.\d s", found["deadline"]["text"]), found["deadline"]["text"])
    t.contains(found["read/write"]["text"], "a node in / was created and deleted")
    t.contains(found["clock"]["text"], "irrelevant")
    t.equal(found["identity"]["text"], "none")
    with zkwire.Client(cluster.address, session_ms=30000) as witness:
        t.equal(witness.children("/"), ["zookeeper"], "nodes left")


@case
def three_servers(t):
    with zookeeper.ensemble(3, config={"maxSessionTimeout": 40000}) as three:
        roles = set()
        for server in three.servers:
            found = findings(t, f"zk://{server.address}?session=30s")
            roles.add(found["server"]["text"].rpartition(", ")[2])
            t.equal(found["ensemble"]["level"], "warn")
            t.contains(found["ensemble"]["advice"], "name all of them")
        t.equal(roles, {"leader", "follower"})
        found = findings(t, f"zk://{three.address}?session=30s")
        t.equal(levels(found), {"acl": "warn"})
        t.equal(found["ensemble"]["text"], "3 servers, of which 1 may fail; 3 in the URL")
        found = findings(t, f"zk://{three.address}?session=5s")
        t.equal((found["session"]["level"], "session=30s" in found["session"]["advice"]), ("warn", True))
        three[three.leader()].kill()
        three.wait()
        t.equal(levels(findings(t, f"zk://{three.address}?session=30s")), {"acl": "warn", "servers": "warn"})


@case
def servers_with_short_sessions(t):
    with zookeeper.ensemble(3) as three:  # a single server has another finding first
        found = findings(t, f"zk://{three.address}?session=30s")
        t.contains(found["session"]["text"], "4 s, requested 30 s")
        t.contains(found["session"]["advice"], "maxSessionTimeout")


def behind(filter_in, host="127.0.0.1"):
    """A proxy: filter_in(link, first bytes) may answer by itself and return None, or return a
    function that changes later answers of the server."""
    def serve_one(link, keep):
        first = link.recv(65536)
        change = filter_in(link, first)
        if change is None:
            return
        far = keep(socket.create_connection(zkwire.address(cluster.address)))
        far.sendall(first)
        back = threading.Thread(target=carry, args=(far, link, change))
        back.start()
        carry(link, far, same)
        back.join()
    return listening(serve_one, host)


def same(data):
    return data


@case
def a_server_without_srvr(t):
    def silent(_link, first):
        return None if first.startswith(b"srvr") else same

    def unwilling(link, first):
        if first.startswith(b"srvr"):
            link.sendall(b"srvr is not executed because it is not in the whitelist.\n")
            link.shutdown(socket.SHUT_RDWR)
        return silent(link, first)

    def babbling(link, first):
        if first.startswith(b"srvr"):
            with contextlib.suppress(OSError):
                link.sendall(b"x" * 1000000)
        return silent(link, first)

    for behaviour in (silent, unwilling, babbling):
        with behind(behaviour) as where:
            found = findings(t, f"zk://{where}?session=30s", "-w", "5")
            t.equal(found["server"]["level"], "warn", behaviour.__name__)
            t.contains(found["server"]["advice"], "4lw.commands.whitelist")
            t.equal(found["read/write"]["level"], "ok")


@case
def a_server_that_stops_answering_meanwhile(t):
    def greets_only(_link, first):
        heard = []

        def change(data):
            heard.append(data)
            return data if len(heard) == 1 else b""
        return None if first.startswith(b"srvr") else change

    with behind(greets_only) as where:
        done = t.run("doctor", "-w", "2", "--url", f"zk://{where}")
        t.equal((done.code, done.err), (69, ""), done.out)
        t.contains(done.out, "FAULT  link")


@case
def plain_text_to_another_host(t):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing, but shows which address we would use
        host = probe.getsockname()[0]
        with behind(lambda _link, first: same, "0.0.0.0") as where:
            found = findings(t, f"zk://ana:hunter2@{host}:{where.partition(':')[2]}?session=30s")
            t.equal(found["encryption"]["level"], "warn")
            t.contains(found["encryption"]["text"], "the password")
            t.equal(found["identity"]["text"], "user ana")
            t.lacks(json.dumps(found), "hunter2")
            return
    print("# this host has no other address: not tried")


# ---- A line --------------------------------------------------------------------------------------


@case
def holders_and_waiters_are_counted(t):
    t.env["HOLDFAST_URL"] = zk()
    for kind, waits, hold, wait in (([], [], 1, 2), (["-s"], ["-s"], 3, 0), (["-x"], ["-s"], 1, 2),
                                    (["--slots", "2"], ["--slots", "2"], 2, 1), (["--claim"], None, 1, 0)):
        name = random_name()
        held = [t.hold(name, *kind)]
        others = [t.start("run", *waits, name, "--", "sleep", "1000")
                  for _ in range(0 if waits is None else 2)]
        t.until("all have queued", lambda: sum(map(len, (t.show(name)[x] for x in ("holders", "waiters"))))
                == hold + wait)
        found = findings(t, zk("?session=30s"), name)
        t.equal(found["line"]["text"], f'{hold} hold "{name}", {wait} wait')
        t.equal((found["names"]["level"], found["folder"]["text"]), ("ok", f"/{name}"))
        for process in others + held:
            process.terminate()
        for process in others + held:
            t.finish(process)


@case
def a_lock_that_nobody_has_used(t):
    name = random_name()
    found = findings(t, zk("?session=30s"), name)
    t.equal(found["folder"]["text"], f"/{name} does not exist; the first client creates it")
    t.equal("line" in found, False)


# ---- Numbers ---------------------------------------------------------------------------------------


def with_number(record, path, number):
    """The record that creates this node, as if its folder had reached `number`.  None: it is
    another record."""
    kind, = struct.unpack_from(">i", record, 28)
    length, = struct.unpack_from(">i", record, 32)
    if kind not in (1, 15) or record[36:36 + length] != path.encode():
        return None
    where = 36 + length
    where += 4 + max(struct.unpack_from(">i", record, where)[0], 0)  # its data
    entries, = struct.unpack_from(">i", record, where)
    where += 4
    for _ in range(entries):
        where += 4
        for _ in range(2):
            where += 4 + struct.unpack_from(">i", record, where)[0]
    return record[:where + 1] + struct.pack(">i", number) + record[where + 5:]


def set_next_number(t, folder, number):
    """Make it look as if so many nodes had been created in the folder: a billion would take
    weeks.  Kills the server and changes its log."""
    with zkwire.Client(cluster.address, session_ms=30000) as witness:
        witness.create(folder)
        witness.create(f"{folder}/old")
        witness.delete(f"{folder}/old")
    cluster[1].kill()
    changed = txnlog.rewrite(cluster[1], lambda record: with_number(record, f"{folder}/old", number))
    t.equal(changed, 1, "records of that node")
    cluster[1].start()
    cluster.wait()


@case
def the_next_sequence_number_is_right(t):
    name = random_name()
    with zkwire.Client(cluster.address, session_ms=30000) as witness:
        witness.create(f"/{name}")
        for made in range(4):
            text = findings(t, zk("?session=30s"), name)["numbers"]["text"]
            node = witness.create(f"/{name}/_c_{uuid.uuid4()}-lock-", mode=zkwire.EPHEMERAL_SEQUENTIAL)
            t.equal(text, f"the next is {int(node[-10:])} of {END}")
            if made % 2:
                witness.delete(node)


@case
def sequence_numbers_near_their_end(t):
    for number, level, code in ((2**30 + 5, "ok", 0), (END - 2**20 - 1, "ok", 0), (END - 2**20, "warn", 0),
                                (END - 1, "warn", 0), (END, "fault", 78)):
        name = random_name()
        set_next_number(t, f"/{name}", number)
        found = findings(t, zk("?session=30s"), name, code=code)
        t.equal(found["numbers"]["level"], level, found["numbers"]["text"])
        t.contains(found["numbers"]["text"], f"the next is {number} of {END}")
        t.equal("start again" in found["numbers"]["advice"], level != "ok")
        done = t.run("run", "-w", "5", "--url", zk(), name, "--", "true")
        t.equal(done.code == 0, number < END, f"{number}: {done.code} {done.err}")


# ---- Names -------------------------------------------------------------------------------------------


CURATOR = f"_c_{uuid.UUID(int=1, version=4)}-lock-"
CURATOR_WRITER = f"_c_{uuid.UUID(int=2, version=4)}-__WRIT__"
KAZOO = f"{uuid.UUID(int=3, version=4).hex}__lock__"
KAZOO_READER = f"{uuid.UUID(int=4, version=4).hex}__rlock__"
JAVA = "x-72057594037927936-"


def folder_with(witness, name, *nodes):
    witness.create(f"/{name}")
    for node in nodes:
        mode = zkwire.EPHEMERAL_SEQUENTIAL if node[-1] in "-_" else zkwire.PERSISTENT
        witness.create(f"/{name}/{node}", mode=mode)


@case
def clients_that_do_not_see_each_other(t):
    t.env["HOLDFAST_URL"] = zk()
    for nodes, ours, level, says in (
            ([CURATOR], None, "ok", ""), ([KAZOO, KAZOO_READER], None, "ok", ""),
            ([JAVA, JAVA], None, "ok", ""), ([CURATOR], [], "ok", ""), ([JAVA], [], "ok", ""),
            ([KAZOO], [], "warn", "kazoo sees Curator's mutexes"),
            ([KAZOO], ["-x"], "warn", "kazoo sees Curator's readers"),
            ([CURATOR, KAZOO], None, "fault", "Curator's mutexes (lock-) do not see kazoo's"),
            ([CURATOR, CURATOR_WRITER], None, "fault", "do not see Curator's readers and writers"),
            ([CURATOR, JAVA], None, "fault", "do not see nodes of ZooKeeper's recipes"),
            ([JAVA, KAZOO], None, "fault", "nodes of ZooKeeper's recipes (x-)")):
        name = random_name()
        with zkwire.Client(cluster.address, session_ms=30000) as witness:
            folder_with(witness, name, *nodes)
            waiter = ours is not None and t.start("run", *ours, name, "--", "true")
            if waiter:
                t.waiting(name, 1)
            found = findings(t, zk("?session=30s"), name, code=78 if level == "fault" else 0)
            t.equal(found["names"]["level"], level, f"{nodes} {ours}: {found['names']['text']}")
            t.contains(found["names"]["text"], says)
        if waiter:
            t.equal(t.finish(waiter).code, 0)


@case
def our_two_styles_see_each_other(t):
    t.env["HOLDFAST_URL"] = zk()
    holder = t.hold("styles")
    waiter = t.start("run", "--url", zk("?style=kazoo"), "styles", "--", "true")
    t.waiting("styles", 1)
    t.equal(findings(t, zk("?session=30s"), "styles")["names"]["level"], "ok")
    t.end(holder)
    t.equal(t.finish(waiter).code, 0)


@case
def nodes_that_are_not_places(t):
    with zkwire.Client(cluster.address, session_ms=30000) as witness:
        for node, level in (("config", "warn"), ("zzz-0000000001x", "warn"), ("0", "fault"), ("-x", "fault"),
                            ("!", "fault")):
            name = random_name()
            folder_with(witness, name, node, CURATOR)
            found = findings(t, zk("?session=30s"), name, code=78 if level == "fault" else 0)
            t.equal(found["other nodes"]["level"], level, node)
            t.contains(found["other nodes"]["text"], f'"{node}"')
            t.equal("Curator waits for it forever" in found["other nodes"]["text"], level == "fault")
            witness.delete_all(f"/{name}")


@case
def an_invalid_place(t):
    t.env["HOLDFAST_URL"] = zk("/strange?session=30s")
    with zkwire.Client(cluster.address, session_ms=30000) as witness:
        witness.create("/strange")
        for numbers, run in (("5-0", ["--slots", "5"]), ("5-6", []), ("1-1", ["-s"]), ("05-2", ["-x"]),
                             ("18446744073709551618-1", ["--claim"])):
            folder_with(witness, "strange/a", f"_c_{uuid.UUID(int=5, version=4)}-sem-{numbers}-")
            if run == ["--claim"]:
                t.true(t.run("run", "-n", *run, "a", "--", "true").code != 0, "a claim got in")
                run = []
            can_be_broken(t, "a", is_in_the_way(t, "a", *run))
            t.equal(t.run("run", "-n", *run, "a", "--", "true").code, 0)
            witness.delete_all("/strange/a")
        witness.delete_all("/strange")
    t.env["HOLDFAST_URL"] = f"sqlite:{t.folder}/locks.db"


@case
def a_slot_that_no_place_has(t):
    """It is named, does not count as a holder, and can be broken: then it is free again."""
    t.env["HOLDFAST_URL"] = zk("/slots")
    with zkwire.Client(cluster.address, session_ms=30000) as witness:
        witness.create("/slots")
        folder_with(witness, "slots/a", "slot-0", "slot-1")
        full = t.run("run", "-w0.5", "--slots", "2", "a", "--", "echo", "in")
        t.equal((full.code, full.out), (69, ""), full.err)
        t.contains(full.err, 'no slot of "a" is free yet')
        lock = t.show("a")
        places = sorted((place["note"], place["kind"], place["token"])
                        for place in lock["holders"] + lock["waiters"])
        t.equal([place[:2] for place in places],
                [(f"slot-{i}, which no place has", "unknown") for i in range(2)])
        found = findings(t, zk("/slots"), "a", code=78)
        t.contains(found["place"]["text"], ', which no place has) in the queue of "a" makes no sense')
        t.equal(found["line"]["text"], '0 hold "a", 0 wait')
        t.equal(t.run("break", "-y", "--token", str(places[1][2]), "a").code, 0)
        t.equal(witness.children("/slots/a"), ["slot-0"])
        t.equal(t.run("run", "-w5", "--slots", "2", "a", "--", "sh", "-c", "echo $HOLDFAST_SLOT").out, "1\n")
        witness.delete_all("/slots")
    t.env["HOLDFAST_URL"] = f"sqlite:{t.folder}/locks.db"


if __name__ == "__main__":
    with store("zk"), zookeeper.standalone(config={"maxSessionTimeout": 40000}) as cluster:
        hf.main()
