"""curator.py - how to run a Java program of ours with Curator.

    argv = curator.command("test/interop/CuratorPeer.java", build)

The program is compiled if necessary, and kept in the build folder.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/server"))
from zookeeper import JARS, Missing  # noqa: E402

JAR = JARS / "curator-recipes.jar"  # names the others it needs
QUIET = JARS / "slf4j-nop.jar"


def compiled(source, build):
    """The folder with its classes, named after a hash of the source."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    folder = pathlib.Path(build) / "java" / f"{source.stem}-{digest}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        subprocess.run(["javac", "-Xlint:all,-path", "-cp", str(JAR), "-d", str(fresh), str(source)],
                       check=True)
        os.rename(fresh, folder)
    except OSError:
        if not folder.exists():  # unless another process was quicker
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def command(source, build, *flags):
    """The command line, without the program's arguments; `flags` are for the JVM."""
    for name in ("java", "javac"):
        if shutil.which(name) is None:
            raise Missing(f"no {name} here")
    for jar in (JAR, QUIET):
        if not jar.exists():
            raise Missing(f"no {jar} here")
    source = ROOT / source
    path = f"{compiled(source, build)}:{JAR}:{QUIET}"
    return ["java", "-XX:-UsePerfData", *flags, "-cp", path, source.stem]
