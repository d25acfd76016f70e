"""etcd - an etcd server, for comparisons with `etcdctl lock`."""
import os
import shutil
import subprocess

import server_process
import sandbox

START_LIMIT = 20.0  # seconds, for a busy machine


class Etcd(server_process.Process):
    """One server, its data in memory."""

    def __init__(self):
        for program in ("etcd", "etcdctl"):
            if shutil.which(program) is None:
                raise server_process.Missing(f"no {program} here")
        self.folder, self._lock = sandbox.make_folder()
        self._keepers = [sandbox.reserve_port() for _ in range(2)]
        self.port = self._keepers[0].getsockname()[1]
        self.url, self.peer_url = (f"http://127.0.0.1:{keeper.getsockname()[1]}"
                                   for keeper in self._keepers)

    def ctl(self, *words, port=None):
        """`port`: of a relay in front of it."""
        return ["etcdctl", "--endpoints", f"http://127.0.0.1:{port or self.port}", *words]

    def start(self):
        self.launch(sandbox.dying_with_us([
            "etcd", "--data-dir", str(self.folder / "data"), "--log-level", "error",
            "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
            "--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url,
            "--initial-cluster", f"default={self.peer_url}"]))
        self.wait(START_LIMIT)

    def serves(self):
        return subprocess.run(self.ctl("endpoint", "health"), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def stop(self):
        self.kill()
        for keeper in self._keepers:
            keeper.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)
