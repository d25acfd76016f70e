#!/usr/bin/env -S python3 -B
"""tls - the same locks over TLS, and certificates that should not be taken."""
import contextlib
import pathlib
import socket
import ssl
import threading

from hands import *  # noqa: F403
import certs  # where hands.py found the rest

MANY = 10  # seconds that `-w 2` may take on a busy machine
cluster = None


def start():
    global cluster
    cluster = zookeeper.standalone(tls="want", config={"maxSessionTimeout": 20000})
    return cluster


def zks(host=None, of=None, **params):
    """The URL of the secure port, with the right CA unless said otherwise."""
    of = of or cluster
    port = of.secure_address.rpartition(":")[2]
    params = {"ca": of.tls["ca"]} | params
    query = "&".join(f"{key}={value}" for key, value in params.items() if value is not None)
    return f"zks://{host or '127.0.0.1'}:{port}" + (f"?{query}" if query else "")


def refused(t, code, says, *args):
    done = t.run("run", "-w", "2", *args, "a", "--", "true")
    t.equal((done.code, done.out), (code, ""), done.err)
    t.one_line(done.err)
    for part in [says] if isinstance(says, str) else says:
        t.contains(done.err, part)
    t.true(done.seconds < MANY, f"it took {done.seconds:.1f} s")


def unusable(t, url, *says):
    refused(t, 69, says, "--url", url)
    done = t.run("doctor", "-w", "2", "--url", url)
    t.equal((done.code, done.err), (69, ""), done.out)
    for part in says:
        t.contains(done.out, part)


# ---- As it should be -------------------------------------------------------------------------


@case
def one_at_a_time_first_come_first_served(t):
    t.env["HOLDFAST_URL"] = zks()
    holder = t.hold("a")
    t.equal(t.run("run", "-n", "a", "--", "true").code, 75)
    order = t.path("order")
    waiters = []
    for number in range(3):
        waiters.append(t.start("run", "a", "--", "sh", "-c", f"echo {number} >>{order}"))
        t.waiting("a", number + 1)
    with zkwire.Client(cluster.address) as plain:  # the other port, the same nodes
        t.equal(len(plain.children("/a")), 4, "places")
    t.end(holder)
    for waiter in waiters:
        t.equal(t.finish(waiter).code, 0)
    t.equal(order.read_text().split(), ["0", "1", "2"])


@case
def a_new_connection_is_encrypted_too(t):
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
def doctor_says_so(t):
    for url, text in ((zks(), "TLS; the server's certificate is verified"),
                      (f"zk://{cluster.address}", "none, and not needed: this host")):
        done = t.run("doctor", "--url", url)
        t.equal((done.code, done.err), (0, ""), done.out)
        t.contains(done.out, text)
        t.contains(done.out, "ZooKeeper 3.")  # srvr is asked the same way


@case
def by_name_or_by_address(t):
    for host in ("127.0.0.1", "localhost"):
        t.equal(t.run("run", "a", "--url", zks(host), "--", "true").code, 0, host)


# ---- Who the server is -------------------------------------------------------------------------


@case
def a_server_that_nobody_vouches_for(t):
    unusable(t, zks(ca=cluster.tls["other_ca"]), "certificate")
    unusable(t, zks(ca=None), "certificate")


@case
def a_certificate_for_another_host(t):
    with zookeeper.standalone(tls="none", tls_names="DNS:elsewhere.example") as elsewhere:
        unusable(t, zks(of=elsewhere), "certificate", "127.0.0.1")


@contextlib.contextmanager
def expired_server():
    """Speaks TLS with a certificate of yesterday; gives its URL."""
    folder = pathlib.Path(cluster.folder) / "certs"
    certs.openssl(folder, "x509", "-req", "-in", "server.csr", "-out", "expired.pem", "-CA", "ca.pem",
                  "-CAkey", "ca.key", "-CAcreateserial", "-days", "-1", "-extfile", "server.ext")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "expired.pem", folder / "server.key")

    def serve():
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                with contextlib.suppress(OSError), context.wrap_socket(link, server_side=True) as secure:
                    secure.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"zks://127.0.0.1:{listener.getsockname()[1]}?ca={folder / 'ca.pem'}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@case
def a_certificate_that_has_expired(t):
    with expired_server() as url:
        unusable(t, url, "certificate", "expired")


@case
def the_wrong_port(t):
    unusable(t, f"zks://{cluster.address}?ca={cluster.tls['ca']}", cluster.address)
    unusable(t, f"zk://{cluster.secure_address}", cluster.secure_address)


# ---- Who we are --------------------------------------------------------------------------------


@case
def a_certificate_of_our_own(t):
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


@case
def a_certificate_is_required(t):
    with zookeeper.standalone(tls="need") as strict:
        files = strict.tls
        url = zks(of=strict, cert=files["cert"], key=files["key"])
        done = t.run("run", "-q", "a", "--url", url, "--", "echo", "mine")
        t.equal((done.code, done.out, done.err), (0, "mine\n", ""))
        unusable(t, zks(of=strict), "certificate")
        unusable(t, zks(of=strict, cert=files["other_cert"], key=files["other_key"]), "certificate")


@case
def files_that_are_no_certificates(t):
    files, junk = cluster.tls, t.path("junk")
    junk.write_text("junk\n")
    for params in ({"ca": junk}, {"ca": "/not/there"}, {"cert": junk}, {"cert": files["cert"]},
                   {"cert": files["cert"], "key": files["other_key"]}, {"key": files["key"]}):
        done = t.run("run", "a", "--url", zks(**params), "--", "true")
        t.equal((done.code, done.out), (64, ""), f"{params}: {done.err}")
        t.one_line(done.err)


if __name__ == "__main__":
    play(start)
