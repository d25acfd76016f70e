#!/usr/bin/env python3
"""archive - what `make dist` makes: the same bytes each time, a true list, a tree that builds.

    test/dist/archive.py BUILD           as a test, in some seconds
    test/dist/archive.py BUILD --build   and builds, installs and tries what is in it: minutes
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Of SPDX 2.3: what must be there, and how often in a section.
DOCUMENT = {"SPDXVersion": r"SPDX-2\.3", "DataLicense": r"CC0-1\.0", "SPDXID": r"SPDXRef-DOCUMENT",
            "DocumentName": r"holdfast-[\d.]+", "DocumentNamespace": r"https://[^#\s]+",
            "Creator": r"(Tool|Person|Organization): \S.*",
            "Created": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"}
PACKAGE = {"PackageName": "holdfast", "SPDXID": r"SPDXRef-[\w.-]+", "PackageVersion": r"[\d.]+",
           "PackageFileName": r"\S+", "PackageDownloadLocation": r"NOASSERTION|NONE|\S+://\S+",
           "FilesAnalyzed": "true", "PackageVerificationCode": r"[0-9a-f]{40}",
           "PackageChecksum": r"SHA256: [0-9a-f]{64}", "PackageLicenseConcluded": r"Apache-2\.0",
           "PackageLicenseInfoFromFiles": "NONE", "PackageLicenseDeclared": r"Apache-2\.0",
           "PackageCopyrightText": r"<text>.+</text>", "Relationship": r"SPDXRef-\S+ DESCRIBES SPDXRef-\S+"}
FILE = {"FileName": r"\./.+", "SPDXID": r"SPDXRef-[\w.-]+", "FileChecksum": r"SHA1: [0-9a-f]{40}",
        "LicenseConcluded": r"Apache-2\.0", "LicenseInfoInFile": "NONE",
        "FileCopyrightText": r"NOASSERTION"}


def skip(why):
    print(f"# SKIP {why}")
    sys.exit(77)


def make(tools, folder, **env):
    return subprocess.run([tools / "dist", folder], env=os.environ | env, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def section(text, wanted):
    """A paragraph of tags, each of them once; a dictionary."""
    tags = [line.split(": ", 1) for line in text.splitlines()]
    found = dict(tags)
    assert len(found) == len(tags), f"a tag stands twice: {text}"
    assert found.keys() == wanted.keys(), f"{found.keys() ^ wanted.keys()} in {text}"
    for tag, value in found.items():
        assert re.fullmatch(wanted[tag], value), f"{tag}: {value}"
    return found


def check_list(spdx, archive, tree):
    document, package, *files = spdx.read_text().strip().split("\n\n")
    section(document, DOCUMENT)
    package = section(package, PACKAGE)
    files = [section(text, FILE) for text in files]
    assert package["PackageFileName"] == archive.name
    assert package["PackageChecksum"] == f"SHA256: {hashlib.sha256(archive.read_bytes()).hexdigest()}"
    there = {f"./{path.relative_to(tree)}": hashlib.sha1(path.read_bytes()).hexdigest()
             for path in tree.rglob("*") if path.is_file()}
    listed = {file["FileName"]: file["FileChecksum"].removeprefix("SHA1: ") for file in files}
    assert listed == there, f"the list is not the archive: {listed.items() ^ there.items()}"
    assert len({file["SPDXID"] for file in files}) == len(files) > 500
    code = hashlib.sha1("".join(sorted(there.values())).encode()).hexdigest()
    assert package["PackageVerificationCode"] == code


def build(tree, work):
    """As somebody who has the archive alone: `make`, install, use."""
    plain = {"PATH": os.environ["PATH"], "HOME": str(work), "GIT_DIR": "/nonexistent"}

    def run(*argv, **env):
        subprocess.run(argv, cwd=tree, env=plain | env, check=True, stdout=subprocess.DEVNULL)

    run("make")
    run("make", "install", DESTDIR=str(work / "root"))
    holdfast = work / "root/usr/local/bin/holdfast"
    said = subprocess.run([holdfast, "run", "--url", f"sqlite:{work}/locks.db", "x", "--", holdfast, "version"],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    assert said.startswith(f"{tree.name.replace('-', ' ')}\n"), said
    print("ok - builds, is installed and runs")


def main():
    if not shutil.which("git") or not shutil.which("xz"):
        skip("no git or no xz here")
    top = subprocess.run(["git", "rev-parse", "--show-toplevel"], cwd=ROOT, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    if top != str(ROOT):
        skip("this tree is no clone")
    with tempfile.TemporaryDirectory(prefix="dist.") as folder:
        work = pathlib.Path(folder)
        for name in ("one", "two"):
            done = make(ROOT / "tools", work / name, XZ_OPT="-0", TZ="Asia/Tokyo" if name == "two" else "UTC")
            assert done.returncode == 0, done.stderr
        made = sorted(path.name for path in (work / "one").iterdir())
        for name in made:
            assert (work / "one" / name).read_bytes() == (work / "two" / name).read_bytes(), name
        print(f"ok - twice the same bytes: {' '.join(made)}")
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=work / "one", check=True)
        archive, = (work / "one").glob("holdfast-*.tar.xz")
        with tarfile.open(archive) as tar:
            tar.extractall(work)
        tree = work / archive.name.removesuffix(".tar.xz")
        check_list(archive.parent / f"{tree.name}.spdx", archive, tree)
        print("ok - the list is complete, and SPDX 2.3")
        done = make(tree / "tools", work / "three", GIT_CEILING_DIRECTORIES=str(work.parent))
        assert done.returncode == 1 and "needs a clone" in done.stderr, done.stderr
        print("ok - an unpacked archive says that it cannot make another")
        if sys.argv[2:] == ["--build"]:
            build(tree, work)


main()
