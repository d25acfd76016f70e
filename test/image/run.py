#!/usr/bin/env python3
"""run.py - the image of `make image`: umoci accepts it, it has one file, and that runs in a container.

    test/image/run.py BUILD              as every test gets it; what is tried is build-image/*-oci.tar

Skipped if that is not built, or umoci is missing; the container, if runc or the kernel does not let us.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT = 60


def call(*argv, **more):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=LIMIT, **more)


def unpack(folder):
    """The bundle of the image for this machine, as a runtime uses it."""
    with tarfile.open(IMAGE) as tar:
        tar.extractall(folder / "layout", filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(
            folder / "layout")
    index = json.loads((folder / "layout/index.json").read_text())
    names = [one["annotations"]["org.opencontainers.image.ref.name"] for one in index["manifests"]]
    amd64 = next(name for name in names if name.endswith("-amd64"))
    rootless = [] if os.getuid() == 0 else ["--rootless"]
    done = call("umoci", "unpack", *rootless, "--image", f"{folder}/layout:{amd64}", folder / "bundle")
    assert done.returncode == 0, done.stdout
    return folder / "bundle"


def it_has_one_file(bundle):
    files = sorted(str(path.relative_to(bundle / "rootfs")) for path in (bundle / "rootfs").rglob("*"))
    assert files == ["holdfast", "tmp"], files
    config = json.loads((bundle / "config.json").read_text())
    assert config["process"]["args"] == ["/holdfast"], config["process"]
    copied = call(bundle / "rootfs/holdfast", "version")  # as after COPY --from
    assert copied.returncode == 0 and "stores: sqlite" in copied.stdout, copied.stdout


def it_runs_in_a_container(bundle):
    runc = shutil.which("runc") or shutil.which("runc", path="/usr/sbin")
    if runc is None:
        return "no runc here"
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    config["process"]["terminal"] = False
    config["root"]["readonly"] = False
    config["process"]["args"] = ["/holdfast", "run", "--url", "sqlite:/tmp/locks.db", "job", "--", "/holdfast", "version"]
    path.write_text(json.dumps(config))
    done = call(runc, "--root", bundle / "state", "run", f"hf-image-{os.getpid()}", cwd=bundle)
    if done.returncode != 0 and not done.stdout.startswith("holdfast "):
        return f"the kernel, or runc, does not let us: {done.stdout.splitlines()[-1][:120]}"
    assert done.returncode == 0 and "stores: sqlite" in done.stdout, done.stdout
    return None


def main():
    failed = 0
    print("1..2")
    with tempfile.TemporaryDirectory(prefix="hf-image-") as folder:
        bundle = unpack(pathlib.Path(folder))
        for number, case in enumerate((it_has_one_file, it_runs_in_a_container), 1):
            try:
                skip = case(bundle)
                print(f"ok {number} - {case.__name__}{f' # SKIP {skip}' if skip else ''}", flush=True)
            except AssertionError as fault:
                failed += 1
                print(f"not ok {number} - {case.__name__}\n# {fault}", flush=True)
    return 1 if failed else 0


FOUND = sorted((ROOT / "build-image").glob("*-oci.tar"))
if not FOUND or shutil.which("umoci") is None:
    print("# SKIP there is no build-image/*-oci.tar, or no umoci: make image")
    sys.exit(77)
IMAGE = FOUND[0]
sys.exit(main())
