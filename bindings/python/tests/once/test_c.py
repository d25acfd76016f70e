"""The declarations in Python agree with the header."""
import ctypes
import pathlib
import re
import subprocess

import holdfast
from holdfast import _c, _library

HEADER = pathlib.Path(__file__).resolve().parents[4] / "include/holdfast.h"
STRUCTS = {
    "hf_options": _c.Options, "hf_entry": _c.Entry, "hf_report": _c.Report,
    "hf_finding": _c.Finding, "hf_findings": _c.Findings, "hf_histogram": _c.Histogram,
    "hf_stats": _c.Stats, "hf_client_stats": _c.ClientStats, "hf_election_options": _c.ElectionOptions,
}
# Of functions that the package does not use.
UNUSED = {"hf_store_watch_options", "hf_history_entry", "hf_history_report"}
ENUMS = ("hf_error", "hf_state", "hf_link", "hf_flags", "hf_level")


def header():
    """Without comments."""
    return re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)


def evaluate(expressions, folder):
    """The values, by a C compiler."""
    source = folder / "values.c"
    lines = "".join(f'printf("%lld\\n", (long long)({text}));\n' for text in expressions)
    source.write_text(f'#include "holdfast.h"\n#include <stdio.h>\nint main(void) {{\n{lines}}}\n')
    subprocess.run(["cc", f"-I{HEADER.parent}", "-o", folder / "values", source], check=True)
    out = subprocess.run([folder / "values"], check=True, capture_output=True, text=True).stdout
    return dict(zip(expressions, map(int, out.split())))


def test_version():
    """Version numbers elsewhere agree with the header."""
    major, minor, patch = (re.search(rf"^#define HF_VERSION_{part} (\d+)", header(), re.MULTILINE)[1]
                           for part in ("MAJOR", "MINOR", "PATCH"))
    assert holdfast.__version__ == holdfast.library_version == f"{major}.{minor}.{patch}"
    fits = major if int(major) > 0 else f"0.{minor}"
    assert _library.SONAME == f"libholdfast.so.{fits}"
    folder = pathlib.Path(__file__).resolve().parents[2]
    for text in (folder / "README.md", folder / "src/holdfast/_library.py"):
        named = re.findall(r"libholdfast(?:\.so\.)?(\d[\d.]*\d)", text.read_text())
        assert set(named) == {fits}, text


def test_constants(tmp_path):
    names = [name for enum in ENUMS
             for name in re.findall(r"\bHF_\w+", re.search(rf"enum {enum} {{(.*?)}};", header(),
                                                           re.DOTALL).group(1))]
    assert len(names) > 30
    ours = {name: getattr(_c, name[3:]) for name in [*names, "HF_BUCKETS"]}
    assert ours == evaluate([*names, "HF_BUCKETS"], tmp_path)


def test_structs(tmp_path):
    ours = {}
    for name, struct in STRUCTS.items():
        ours[f"sizeof(struct {name})"] = ctypes.sizeof(struct)
        for field, kind in struct._fields_:
            ours[f"offsetof(struct {name}, {field})"] = getattr(struct, field).offset
            ours[f"sizeof(((struct {name} *)0)->{field})"] = ctypes.sizeof(kind)
    assert ours == evaluate(list(ours), tmp_path)
    defined = set(re.findall(r"^struct (hf_\w+) {", header(), re.MULTILINE))
    assert defined == set(STRUCTS) | UNUSED


def arguments(text):
    return 0 if text.strip() in ("", "void") else re.sub(r"\([^()]*\)", "", text).count(",") + 1


def test_functions():
    found = {name: arguments(args) for name, args in
             re.findall(r"^HF_API[^(;]*?\b(hf_\w+)\((.*?)\);", header(), re.MULTILINE | re.DOTALL)}
    ours = {name: len(rest) for name, (_, *rest) in _c.PROTOTYPES.items()}
    assert len(found) > 50
    assert set(found) - set(ours) == set(_c.LEFT_OUT)
    assert {name: found[name] for name in ours} == ours
