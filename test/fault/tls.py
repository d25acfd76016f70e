#!/usr/bin/env -S python3 -B
"""tls - certificates, ours and the server's: which are accepted, and which are refused.

    test/fault/tls.py [FOLDER] redis|postgres|zookeeper [CASE ...]
"""
import contextlib
import pathlib
import ssl

from stores import *  # noqa: F403
import certs  # where stores.py found the rest
import stores


def here():
    return stores.server


# ---- The server's certificate -------------------------------------------------------------------------


@case
def a_name_or_an_address_works(t):
    works(t, row.secure(ca=here().ca))
    works(t, row.secure(ca=here().ca).replace("127.0.0.1", "localhost"))


@case
def a_server_with_an_unknown_authority_is_refused(t):
    unusable(t, row.secure(ca=certificates() / "other_ca.pem"), "certificate")
    unusable(t, row.secure(), "certificate")


@contextlib.contextmanager
def pretender(name, names, days):
    """A server with a certificate of the right authority, for these names and so many days.  It does
    only the handshake.  Gives its host:port."""
    folder = certificates()
    (folder / f"{name}.ext").write_text(f"subjectAltName={names}\n")
    term = ["-days", str(days)]
    if days < 0 and "-not_after" in subprocess.run(["openssl", "x509", "-help"], capture_output=True,
                                                   text=True, check=False).stderr:
        term = ["-not_before", "20200101000000Z", "-not_after", "20200102000000Z"]  # the only way with OpenSSL 3.5
    certs.openssl(folder, "x509", "-req", "-in", "server.csr", "-out", f"{name}.pem", "-CA", "ca.pem",
                  "-CAkey", "ca.key", "-CAcreateserial", *term, "-extfile", f"{name}.ext")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / "server.key")

    def talk(link):
        if row.greets_first:
            link.sendall(row.greeting)
            link.recv(36)  # SSLRequest
        elif row.greeting:
            link.recv(4096)
            link.sendall(row.greeting)
        with context.wrap_socket(link, server_side=True) as secure:
            secure.recv(1)

    with peer(talk) as at:
        yield at


@case
def a_certificate_for_another_host_is_refused(t):
    with pretender("elsewhere", "DNS:elsewhere.example", 2) as at:
        unusable(t, row.secure(at, here().ca), "certificate")


@case
def an_expired_certificate_is_refused(t):
    with pretender("expired", "IP:127.0.0.1", -1) as at:
        unusable(t, row.secure(at, here().ca), row.expired)


@case
def mixing_up_plain_and_tls_is_reported(t):
    for url, says in row.mixed_up():
        out_of_reach(t, url, says)


# ---- Our certificate --------------------------------------------------------------------------------


@case
def a_server_may_require_our_certificate(t):
    with row.start(tls="need") as strict:
        folder = pathlib.Path(strict.ca).parent
        works(t, row.secure(of=strict, ca=strict.ca, cert=folder / "client.pem", key=folder / "client.key"))
        unusable(t, row.secure(of=strict, ca=strict.ca), row.uncertified)
        unusable(t, row.secure(of=strict, ca=strict.ca, cert=folder / "other.pem", key=folder / "other.key"),
                 row.stranger)


@case
def bad_certificate_files_are_reported(t):
    folder, junk = certificates(), t.path("junk")
    junk.write_text("junk\n")
    cert, key = folder / "client.pem", folder / "client.key"
    for files in ({"ca": junk}, {"ca": "/not/there"}, {"cert": junk, "key": key},
                  {"cert": cert, "key": folder / "other.key"}, {"cert": cert}, {"key": key})[:row.bad_files]:
        refused(t, row.bad_file, "", "run", "-w", "9", "a", "--url", row.secure(**{"ca": here().ca} | files),
                "--", "true")


play()
