"""tap - test cases in Python, reported as TAP.

    @tap.case
    def a_name_that_tells(): ...

    tap.main(start, Missing)    start: a context manager that runs a server
"""
import argparse
import inspect
import os
import sys
import traceback

CASES = []
options = argparse.Namespace()
servers = []  # the one that runs


class Skip(Exception):
    """Raised by a case that cannot run here."""


def case(function):
    CASES.append(function)
    return function


def run(number, function):
    name = function.__name__.replace("_", " ")
    try:
        function()
        print(f"ok {number} - {name}", flush=True)
        return True
    except Skip as reason:
        print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        return True
    except Exception:
        for line in traceback.format_exc().splitlines():
            print(f"# {line}")
        print(f"not ok {number} - {name}", flush=True)
        return False


def main(start, missing, add_options=None, instead=None):
    """Run all cases, or those whose names contain one of the words.  `instead` may do something
    else and return true."""
    doc = inspect.getdoc(sys.modules["__main__"])
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    if add_options:
        add_options(parser)
    parser.parse_intermixed_args(namespace=options)
    only = [word for word in options.words if not os.path.isdir(word)]
    cases = [c for c in CASES if not only or any(word in c.__name__ for word in only)]
    try:
        with start() as server:
            servers.append(server)
            if instead and instead():
                return
            print(f"1..{len(cases)}")
            good = [run(i + 1, c) for i, c in enumerate(cases)]
    except missing as reason:
        print(f"# SKIP {reason}")
        sys.exit(77)
    sys.exit(0 if all(good) else 1)
