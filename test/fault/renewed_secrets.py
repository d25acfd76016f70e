#!/usr/bin/env -S python3 -B
"""renewed_secrets - passwords and certificates that are replaced while programs run: the next
connection has the new ones, and a file that cannot be used changes nothing.

    test/fault/renewed_secrets.py [FOLDER] redis|postgres|zookeeper [CASE ...]
"""
import pathlib
import shutil

from stores import *  # noqa: F403
import certs  # where stores.py found the rest
import stores


def goes_on(t, url, change):
    """A holder and a waiter live through this, which ends their connections."""
    end, name = t.path("end"), t.folder.name
    holder = t.hold(name, "--url", url, script=f"until [ -e {end} ]; do sleep 0.02; done")
    waiter = t.start("run", "-w", "50", name, "--url", url, "--", "echo", "hi")
    t.until("it waits", lambda: json.loads(t.run("show", "--json", name, "--url", url).out)["waiters"])
    change()
    end.touch()
    done = t.finish(holder)
    t.equal(done.code, 0, done.err)
    done = t.finish(waiter)
    t.equal((done.code, done.out), (0, "hi\n"), done.err)
    end.unlink()


@case
def a_password_is_changed(t):
    path, url = row.secret_file(t)

    def change():
        row.change(path, f"{SECRET}2")
        row.cut()

    try:
        goes_on(t, url, change)
        if row.name != "zookeeper":  # where another password is another identity
            works(t, url)
    finally:
        row.change(path, SECRET)


@case
def an_authority_is_replaced(t):
    folder, bundle = certificates(), t.path("ca.pem")
    was = pathlib.Path(stores.server.tls["server"]).read_text()
    shutil.copy(folder / "ca.pem", bundle)

    def change():
        bundle.write_text((folder / "ca.pem").read_text() + (folder / "other_ca.pem").read_text())
        certs.make_cert(folder, "other_ca", "renewed", "renewed server", "IP:127.0.0.1,DNS:localhost")
        (folder / "store.pem").write_text((folder / "renewed.key").read_text() + (folder / "renewed.pem").read_text())
        row.renew()

    try:
        goes_on(t, row.secure(ca=bundle, lease=row.lasting), change)
        unusable(t, row.secure(ca=folder / "ca.pem"), "certificate")
    finally:
        (folder / "store.pem").write_text(was)
        row.renew()


@case
def files_that_are_gone_change_nothing(t):
    bundle = t.path("ca.pem")
    shutil.copy(certificates() / "ca.pem", bundle)

    def change():
        bundle.unlink()
        row.cut()
        if row.name == "postgres":  # libpq reads it itself, and keeps nothing
            for _ in range(20):  # meanwhile the others try, too
                refused(t, 69, "file", "list", "--url", url)
            shutil.copy(certificates() / "ca.pem", bundle)

    url = row.secure(ca=bundle, lease=row.lasting)
    goes_on(t, url, change)
    path, url = row.secret_file(t)
    if row.name != "postgres":
        goes_on(t, url, lambda: (path.unlink(), row.cut()))


play()
