#!/usr/bin/env -S python3 -B
"""auth - users and passwords, and which identity may use which nodes."""
import base64
import contextlib
import hashlib
import json
import signal
import urllib.parse

from holders import *  # noqa: F403

READ, WRITE, CREATE, DELETE, ADMIN, ALL = 1, 2, 4, 8, 16, 31
NO_AUTH = -102
ANYONE = [(ALL, "world", "anyone")]
cluster = None


def zk(rest=""):
    return f"zk://{cluster.address}{rest}"


def digest(user):
    """The server's id for "name:password"."""
    name = user.partition(":")[0]
    return f"{name}:{base64.b64encode(hashlib.sha1(user.encode()).digest()).decode()}"


def only(*users):
    return [(ALL, "digest", digest(user)) for user in users]


@contextlib.contextmanager
def witness(*users):
    with zkwire.Client(cluster.address, session_ms=20000) as client:
        for user in users:
            client.auth("digest", user)
        yield client


def as_user(user, rest=""):
    """The environment that makes a run this user."""
    return {"HOLDFAST_ZK_AUTH": user, "HOLDFAST_URL": zk(rest)}


def become(t, user, rest=""):
    t.env.update(as_user(user, rest))


def refuses(t, call, *args):
    try:
        call(*args)
    except zkwire.Error as error:
        t.equal(error.code, NO_AUTH)
    else:
        raise Failure(f"{call.__name__} {args} is permitted")


def denied(t, *args, **more):
    done = t.run(*args, **more)
    t.equal((done.code, done.out), (69, ""), f"{args}: {done.err}")
    t.one_line(done.err)
    t.contains(done.err, "ZooKeeper does not let ")
    return done.err


def faults(done):
    return {finding["about"]: finding for finding in json.loads(done.out)
            if finding["level"] == "fault"}


# ---- ACLs of new nodes --------------------------------------------------------------------------


@case
def only_the_creator_may_use_its_nodes(t):
    become(t, "ana:one")
    for options in ([], ["-s"], ["--slots", "2"], ["--claim"]):
        name = random_name()
        holder = t.hold(name, *options)
        with witness("ana:one") as ana, witness() as nobody, witness("ana:two") as other:
            paths = [f"/{name}", *ana.tree(f"/{name}")]
            t.true(len(paths) > 1, "no nodes")
            for path in paths:
                t.equal(ana.acl(path), only("ana:one"), path)
                for stranger in (nobody, other):
                    refuses(t, stranger.data, path)
                    refuses(t, stranger.children, path)
                    if path != paths[0]:
                        refuses(t, stranger.delete, path)
        t.equal(t.end(holder).code, 128 + signal.SIGTERM)


@case
def another_user_is_denied_at_once(t):
    become(t, "ana:one")
    name = random_name()
    holder = t.hold(name)
    for user, who in (("ana:two", "this user"), ("ben:one", "this user"), ("", "a client without a user")):
        env = as_user(user)
        for args in (["run", "-w", "9", name, "--", "true"], ["run", "-n", name, "--", "true"],
                     ["run", "-n", "--claim", name, "--", "true"], ["show", name],
                     ["break", name, "--yes"], ["ask", name]):
            t.contains(denied(t, *args, env=env), who)
        done = t.run("doctor", "--json", name, env=env)
        t.equal((done.code, list(faults(done))), (78, ["folder"]))
        t.contains(faults(done)["folder"]["advice"], "identity")
    t.equal(t.run("show", name).code, 0)
    t.equal(t.end(holder).code, 128 + signal.SIGTERM)


@case
def nodes_are_open_without_an_identity_and_doctor_warns(t):
    become(t, "")
    name = random_name()
    holder = t.hold(name)
    with witness() as nobody:
        for path in (f"/{name}", *nobody.tree(f"/{name}")):
            t.equal(nobody.acl(path), ANYONE)
    done = t.run("doctor", name)
    t.equal(done.code, 0)
    t.contains(done.out, "new nodes are open")
    t.end(holder)


@case
def acl_open_with_an_identity(t):
    become(t, "ana:one", "?acl=open")
    name = random_name()
    holder = t.hold(name)
    with witness() as nobody:
        for path in (f"/{name}", *nobody.tree(f"/{name}")):
            t.equal(nobody.acl(path), ANYONE)
    t.equal(t.run("run", "-n", name, "--", "true", env=as_user("")).code, 75)
    t.end(holder)
    t.equal(t.run("run", "-n", name, "--", "true", env=as_user("ben:one", "?acl=open")).code, 0)
    warned = t.run("doctor", name, env=as_user("ben:one"))
    t.equal(warned.code, 0)
    t.contains(warned.out, "which anybody may change")


@case
def a_group_shares_a_lock(t):
    who = [f"digest:{urllib.parse.quote(digest(user), safe=':')}" for user in ("ana:one", "ben:two")]
    rest = f"?acl={','.join(who)}"
    become(t, "ana:one", rest)
    name = random_name()
    holder = t.hold(name)
    with witness("ben:two") as ben:
        for path in (f"/{name}", *ben.tree(f"/{name}")):
            t.equal(ben.acl(path), only("ana:one", "ben:two"))
    waiter = t.start("run", name, "--", "echo", "mine", env=as_user("ben:two", rest))
    t.waiting(name, 1)
    denied(t, "run", "-w", "9", name, "--", "true", env=as_user("cat:three", rest))
    t.end(holder)
    done = t.finish(waiter)
    t.equal((done.code, done.out), (0, "mine\n"))


@case
def a_waiter_waits_for_an_unreadable_place(t):
    """A waiter waits for a place that it cannot read and gets no events about."""
    for holds, waits in (([], []), (["-x"], ["-s"]), (["--slots", "2", "--weight", "2"], ["--slots", "2"]),
                         (["--claim"], ["--claim"])):
        become(t, "")
        name = random_name()
        t.equal(t.run("run", *holds, name, "--", "true").code, 0)
        t.env.update(as_user("ana:one"))
        holder = t.hold(name, *holds)
        become(t, "")
        done = t.run("run", "-n", *waits, name, "--", "true")
        t.equal(done.code, 75, f"{holds}: {done.err}")
        t.equal(t.run("show", name).code, 0)
        waiters = [t.start("run", "-q", *waits, name, "--", "echo", "mine") for _ in range(2)]
        if holds != ["--claim"]:
            t.waiting(name, 2)
        t.equal(t.end(holder).code, 128 + signal.SIGTERM)
        for waiter in waiters:
            done = t.finish(waiter)
            t.equal((done.code, done.out, done.err), (0, "mine\n", ""), f"{holds}")


# ---- Sources of the identity -----------------------------------------------------------------


@case
def identity_from_file_url_and_environment(t):
    user = "ana:p@:/%?#&= é"
    file = t.path("auth")
    file.touch(mode=0o600)
    file.write_text(f"{user}\n")
    quoted = ":".join(urllib.parse.quote(part, safe="") for part in user.split(":", 1))
    url_file = t.path("url")
    url_file.touch(mode=0o600)
    url_file.write_text(f"zk://{quoted}@{cluster.address}\n")
    for args, env in (([], as_user(user)),
                      (["--url", zk(f"?auth={file}")], {}),
                      (["--url", zk(f"?auth={file}")], as_user("ben:other")),
                      (["--url", f"zk://{quoted}@{cluster.address}"], as_user("ben:other")),
                      (["--url-file", str(url_file)], {})):
        name = random_name()
        done = t.run("run", *args, name, "--", "true", env=env)
        t.equal((done.code, done.err), (0, ""), args)
        with witness(user) as ana:
            t.equal(ana.acl(f"/{name}"), only(user), args)


@case
def check_inside_a_run_needs_the_file(t):
    file = t.path("auth")
    file.touch(mode=0o600)
    file.write_text("ana:one")
    name = random_name()
    done = t.run("run", "--url", zk(f"?auth={file}"), name, "--", hf.HOLDFAST, "check", name)
    t.equal((done.code, done.err), (0, ""))
    become(t, "ana:one")
    done = t.run("run", name, "--", hf.HOLDFAST, "check", name)
    t.equal(done.code, 69)
    t.contains(done.err, "a client without a user")


# ---- Missing rights -------------------------------------------------------------------


@case
def missing_rights_in_the_chroot(t):
    chroot = f"/{random_name()}"
    with witness("root:root") as root:
        root.create(chroot)
        for permissions, says in ((READ, "may not create nodes"), (READ | CREATE, "not delete them"),
                                  (CREATE | DELETE, None), (READ | CREATE | DELETE, None)):
            root.set_acl(chroot, [(ALL, "digest", digest("root:root")),
                                  (permissions, "digest", digest("ana:one"))])
            become(t, "ana:one", chroot)
            done = t.run("doctor", "--json")
            t.equal(done.code, 0 if says is None else 78, f"{permissions}: {done.out}")
            if says is not None:
                t.contains(faults(done)["read/write"]["text"], says)
            name = random_name()
            if permissions & CREATE:
                t.equal(t.run("run", name, "--", "true").code, 0, f"{permissions}")
            else:
                denied(t, "run", "-w", "9", name, "--", "true")
    become(t, "")


@case
def missing_rights_in_the_folder(t):
    name = random_name()
    become(t, "ana:one")
    with witness("ana:one") as ana:
        ana.create(f"/{name}")
        for permissions, says in ((READ, "create nodes"), (READ | CREATE, "delete nodes")):
            ana.set_acl(f"/{name}", [(permissions, "digest", digest("ana:one")),
                                     (ADMIN, "world", "anyone")])
            found = faults(t.run("doctor", "--json", name))
            t.contains(found["rights"]["text"], says)
        ana.set_acl(f"/{name}", [(READ | CREATE | DELETE, "digest", digest("ana:one"))])
        t.equal(faults(t.run("doctor", "--json", name)), {})
        t.equal(t.run("run", name, "--", "true").code, 0)
        ana.delete(f"/{name}")


@case
def the_right_to_delete_allows_break(t):
    """Even if only another identity may read and write the nodes in it; READ alone is not enough."""
    for options in ([], ["--claim"]):
        for rights in (None, READ):
            name = random_name()
            with witness("ana:one") as ana:
                ana.create(f"/{name}")
                ana.set_acl(f"/{name}", [(ALL, "digest", digest("ana:one")),
                                         (READ | DELETE, "digest", digest("ben:one"))])
                become(t, "ana:one")
                holder = t.hold(name, *options)
                if rights is not None:
                    for path in ana.tree(f"/{name}"):
                        ana.set_acl(path, [(ALL, "digest", digest("ana:one")),
                                           (rights, "digest", digest("ben:one"))])
                done = t.run("break", name, "--yes", env=as_user("ben:one"))
                t.equal(done.code, 0, f"{options} {rights}: {done.err}")
                t.equal(t.finish(holder).code, 79, "exit code")
    become(t, "")


# ---- Across connections --------------------------------------------------------------------------


@case
def a_new_connection_has_the_same_identity(t):
    become(t, "ana:one", "?session=15s")
    name = random_name()
    flag = t.path("flag")
    holder = t.hold(name, script=f"until test -e {flag}; do sleep 0.02; done")
    waiter = t.start("run", "-q", name, "--", "true")
    t.waiting(name, 1)
    cluster[1].kill()
    cluster[1].start()
    cluster.wait()
    with witness("ana:one") as ana:
        before = ana.tree(f"/{name}")
        t.equal(len(before), 2, "places")
    # From here on they use new connections: their rights show that the identity is the same.
    t.equal(t.run("ask", name).code, 0)
    t.equal((holder.poll(), waiter.poll()), (None, None))
    flag.touch()
    t.equal(t.finish(holder).code, 0)
    done = t.finish(waiter)
    t.equal((done.code, done.err), (0, ""))
    with witness("ana:one") as ana:
        t.equal(ana.tree(f"/{name}"), [])


if __name__ == "__main__":
    with store("zk"), zookeeper.standalone(config={"maxSessionTimeout": 20000}) as cluster:
        hf.main()
