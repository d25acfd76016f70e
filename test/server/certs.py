"""certs - keys and certificates for one test, made with openssl.

    made = certs.make(folder)
    made["ca"], made["cert"], made["key"]

Files in PEM: `ca` signs `server` (key and certificate in one file, as ZooKeeper wants
it) and the client's `cert` with its `key`; `other_ca` is an
authority that the server does not know, and signs `other_cert` with `other_key` for a client.
"""
import pathlib
import subprocess

NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def openssl(folder, *args):
    done = subprocess.run(["openssl", *args], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {args[0]}: {done.stderr.strip()}")


def make_ca(folder, name):
    openssl(folder, "req", "-x509", *NEW_KEY, "-subj", f"/CN={name}", "-days", "2",
            "-addext", "keyUsage=critical,keyCertSign", "-keyout", f"{name}.key", "-out", f"{name}.pem")


def make_cert(folder, ca, name, subject, alternatives=None):
    openssl(folder, "req", "-new", *NEW_KEY, "-subj", f"/CN={subject}",
            "-keyout", f"{name}.key", "-out", f"{name}.csr")
    extra = ["-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", "2"]
    if alternatives:
        (folder / f"{name}.ext").write_text(f"subjectAltName={alternatives}\n")
        extra += ["-extfile", f"{name}.ext"]
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *extra)


def make(folder, server_names="IP:127.0.0.1,DNS:localhost"):
    """`server_names`: the names in the server's certificate, in openssl's syntax."""
    folder = pathlib.Path(folder)
    folder.mkdir(mode=0o700, exist_ok=True)
    make_ca(folder, "ca")
    make_ca(folder, "other_ca")
    make_cert(folder, "ca", "server", "holdfast test server", server_names)
    make_cert(folder, "ca", "client", "holdfast test client")
    make_cert(folder, "other_ca", "other", "a stranger")
    store = folder / "store.pem"
    store.touch(mode=0o600)
    store.write_text((folder / "server.key").read_text() + (folder / "server.pem").read_text())
    files = {"ca": "ca.pem", "other_ca": "other_ca.pem", "server": "store.pem",
             "cert": "client.pem", "key": "client.key",
             "other_cert": "other.pem", "other_key": "other.key"}
    return {what: str(folder / name) for what, name in files.items()}
