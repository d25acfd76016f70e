#!/usr/bin/env -S python3 -B
"""tls - the same locks over TLS, and client certificates as identities.  (test/fault/tls.py shows which
certificates are accepted.)"""
from holders import *  # noqa: F403

cluster = None


def zks(**params):
    """The URL of the secure port."""
    return f"zks://{cluster.secure_address}?" + "&".join(
        f"{key}={value}" for key, value in ({"ca": cluster.tls["ca"]} | params).items())


@case
def one_holder_at_a_time_in_order(t):
    t.env["HOLDFAST_URL"] = zks()
    holder = t.hold("a")
    t.equal(t.run("run", "-n", "a", "--", "true").code, 75)
    order = t.path("order")
    waiters = []
    for number in range(3):
        waiters.append(t.start("run", "a", "--", "sh", "-c", f"echo {number} >>{order}"))
        t.waiting("a", number + 1)
    with zkwire.Client(cluster.address) as plain:  # the plain port, with the same nodes
        t.equal(len(plain.children("/a")), 4, "places")
    t.end(holder)
    for waiter in waiters:
        t.equal(t.finish(waiter).code, 0)
    t.equal(order.read_text().split(), ["0", "1", "2"])


@case
def a_new_connection_uses_tls_too(t):
    t.env["HOLDFAST_URL"] = zks(session="15s")
    flag = t.path("flag")
    holder = t.hold("b", script=f"until test -e {flag}; do sleep 0.02; done")
    cluster[1].kill()
    cluster[1].start()
    cluster.wait()
    t.equal(t.run("check", "b", "--token", t.show("b")["holders"][0]["token"]).code, 0)
    flag.touch()
    t.equal(t.finish(holder).code, 0)


@case
def doctor_reports_tls(t):
    for url, text in ((zks(), "TLS; the server's certificate is verified"),
                      (f"zk://{cluster.address}", "none, and not needed: this host")):
        done = t.run("doctor", "--url", url)
        t.equal((done.code, done.err), (0, ""), done.out)
        t.contains(done.out, text)
        t.contains(done.out, "ZooKeeper 3.")  # srvr is sent over TLS, too


@case
def a_client_certificate_is_an_identity(t):
    files = cluster.tls
    url = zks(cert=files["cert"], key=files["key"])
    done = t.run("run", "mine", "--url", url, "--", hf.HOLDFAST, "doctor", "mine", "--url", url)
    t.equal((done.code, done.err), (0, ""), done.out)
    t.contains(done.out, "identity    a certificate")
    with zkwire.Client(cluster.address) as nobody:
        try:
            nobody.children("/mine")
            raise Failure("the folder can be read by anybody")
        except zkwire.Error as error:
            t.equal(error.code, -102)
    t.equal(t.run("show", "mine", "--url", url).code, 1)


if __name__ == "__main__":
    with store("zk"), zookeeper.standalone(tls="want", config={"maxSessionTimeout": 20000}) as cluster:
        hf.main()
