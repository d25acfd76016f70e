"""The C interface as ctypes sees it: holdfast.h explains every name here.

Nothing but declarations.  tests/once/test_c.py compares them with the header.
"""
from __future__ import annotations

from ctypes import (
    CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint,
    c_uint32, c_uint64, c_void_p,
)
from typing import Any

from ._library import declare, load

# enum hf_error
EINVAL, ENOMEM, EBUSY, ETIMEOUT, ECANCELED, ELOST, EDOWN, EDENIED, EFORK, EOWNER = range(-1, -11, -1)
ESTATE, EMISMATCH, EFULL, ECORRUPT, EUNSUPPORTED, ENOTFOUND = range(-11, -17, -1)
ESTORE, EDEADLOCK, EEXHAUSTED = range(-17, -20, -1)

# enum hf_state
IDLE, WAITING, HELD, LEAVING, LOST = range(5)

# enum hf_link
LINK_DOWN, LINK_UP, LINK_LOST = range(3)

# enum hf_flags
NO_KEEPER, INIT, GUARDIAN = 1, 2, 4

# enum hf_level
FINE, WARNING, FAULT = range(3)

INT64_MAX = 2**63 - 1
BUCKETS = 40

# Clients, locks and elections are opaque pointers.
Pointer = c_void_p

ON_STATE = CFUNCTYPE(None, c_void_p, c_int, c_int, c_void_p)
ON_ASK = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)
ON_PLACE = CFUNCTYPE(None, c_void_p, c_int64, c_void_p)
ON_TRACE = CFUNCTYPE(None, c_char_p, c_void_p)
ON_LINK = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_void_p)
ON_SESSION_KEY = CFUNCTYPE(None, c_void_p, c_size_t, c_void_p)


class Options(Structure):
    """struct hf_options"""
    _fields_ = [
        ("size", c_size_t),
        ("flags", c_uint),
        ("ttl_ms", c_int),
        ("command", c_char_p),
        ("note", c_char_p),
        ("on_state", ON_STATE),
        ("on_ask", ON_ASK),
        ("on_place", ON_PLACE),
        ("on_trace", ON_TRACE),
        ("data", c_void_p),
        ("error", c_char_p),
        ("error_size", c_size_t),
        ("on_link", ON_LINK),
        ("public_command", c_char_p),
        ("guardian", c_char_p),
        ("on_session_key", ON_SESSION_KEY),
    ]


class Entry(Structure):
    """struct hf_entry"""
    _fields_ = [
        ("name", c_char_p),
        ("kind", c_char_p),
        ("held", c_bool),
        ("token", c_uint64),
        ("since", c_int64),
        ("weight", c_uint32),
        ("capacity", c_uint32),
        ("slot", c_int),
        ("host", c_char_p),
        ("user", c_char_p),
        ("pid", c_int64),
        ("command", c_char_p),
        ("note", c_char_p),
        ("left_ms", c_int64),
        ("version", c_char_p),
    ]


class Report(Structure):
    """struct hf_report"""
    _fields_ = [("entry", POINTER(POINTER(Entry))), ("count", c_size_t)]


class Finding(Structure):
    """struct hf_finding"""
    _fields_ = [("level", c_int32), ("about", c_char_p), ("text", c_char_p), ("advice", c_char_p)]


class Findings(Structure):
    """struct hf_findings"""
    _fields_ = [("finding", POINTER(POINTER(Finding))), ("count", c_size_t)]


class Histogram(Structure):
    """struct hf_histogram"""
    _fields_ = [
        ("count", c_uint64),
        ("total_us", c_uint64),
        ("max_us", c_uint64),
        ("bucket", c_uint64 * BUCKETS),
    ]


class Stats(Structure):
    """struct hf_stats"""
    _fields_ = [
        ("acquired", c_uint64),
        ("busy", c_uint64),
        ("timeouts", c_uint64),
        ("canceled", c_uint64),
        ("failed", c_uint64),
        ("released", c_uint64),
        ("lost", c_uint64),
        ("wait", Histogram),
        ("hold", Histogram),
        ("broken", c_uint64),
        ("least_left", c_int64),
    ]


class ClientStats(Structure):
    """struct hf_client_stats"""
    _fields_ = [
        ("connected", c_uint64),
        ("lost", c_uint64),
        ("renewals", c_uint64),
        ("late", c_uint64),
        ("round_trip", Histogram),
    ]


ON_ELECTED = CFUNCTYPE(None, c_void_p, c_uint64, c_void_p)
ON_DEPOSED = CFUNCTYPE(None, c_void_p, c_int, c_void_p)
ON_LEADER = CFUNCTYPE(None, c_void_p, POINTER(Entry), c_void_p)


class ElectionOptions(Structure):
    """struct hf_election_options"""
    _fields_ = [
        ("size", c_size_t),
        ("note", c_char_p),
        ("observe", c_bool),
        ("once", c_bool),
        ("elected", ON_ELECTED),
        ("deposed", ON_DEPOSED),
        ("leader", ON_LEADER),
        ("data", c_void_p),
    ]


REPORT = POINTER(Report)
FINDINGS = POINTER(Findings)
OUT = POINTER(Pointer)

PROTOTYPES: dict[str, tuple[Any, ...]] = {  # name: result, arguments...
    "hf_errname": (c_char_p, c_int),
    "hf_strerror": (c_char_p, c_int),
    "hf_err_retryable": (c_bool, c_int),
    "hf_version": (c_char_p,),
    "hf_stores": (c_char_p,),
    "hf_open": (c_int, c_char_p, POINTER(Options), OUT),
    "hf_load": (c_int, c_char_p, c_char_p, c_size_t),
    "hf_close": (None, Pointer),
    "hf_errmsg": (c_char_p, Pointer),
    "hf_where": (c_char_p, Pointer),
    "hf_mutex": (c_int, Pointer, c_char_p, OUT),
    "hf_reader": (c_int, Pointer, c_char_p, OUT),
    "hf_writer": (c_int, Pointer, c_char_p, OUT),
    "hf_semaphore": (c_int, Pointer, c_char_p, c_uint32, c_uint32, OUT),
    "hf_claim": (c_int, Pointer, c_char_p, OUT),
    "hf_all_of": (c_int, OUT, c_size_t, OUT),
    "hf_lock_free": (None, Pointer),
    "hf_downgrade": (c_int, Pointer),
    "hf_set_note": (c_int, Pointer, c_char_p),
    "hf_set_any_thread": (c_int, Pointer, c_bool),
    "hf_set_max_waiters": (c_int, Pointer, c_uint32),
    "hf_acquire": (c_int, Pointer, c_int64),
    "hf_release": (c_int, Pointer),
    "hf_acquire_start": (c_int, Pointer, c_int64),
    "hf_release_start": (c_int, Pointer),
    "hf_cancel": (c_int, Pointer),
    "hf_acting_for": (c_uint64,),
    "hf_act_for": (None, c_uint64),
    "hf_state": (c_int, Pointer),
    "hf_why": (c_int, Pointer),
    "hf_token": (c_uint64, Pointer),
    "hf_slot": (c_int, Pointer),
    "hf_ahead": (c_int64, Pointer),
    "hf_left_ms": (c_int64, Pointer),
    "hf_lost_fd": (c_int, Pointer),
    "hf_inspect": (c_int, Pointer, c_char_p, c_int64, POINTER(REPORT)),
    "hf_report_free": (None, REPORT),
    "hf_watch": (c_int, Pointer, c_char_p, REPORT, c_int64, POINTER(REPORT)),
    "hf_break": (c_int, Pointer, c_char_p, c_uint64, c_int64),
    "hf_check": (c_int, Pointer, c_int64),
    "hf_verify": (c_int, Pointer, c_char_p, c_uint64, c_int64),
    "hf_doctor": (c_int, Pointer, c_char_p, c_int64, POINTER(FINDINGS)),
    "hf_findings_free": (None, FINDINGS),
    "hf_fence_file": (c_int, c_char_p, c_uint64, c_int64, c_char_p, c_size_t),
    "hf_ask": (c_int, Pointer, c_char_p, c_char_p, c_int64),
    "hf_asked": (c_bool, Pointer, c_char_p, c_size_t),
    "hf_ask_fd": (c_int, Pointer),
    "hf_get_all_stats": (None, Pointer, POINTER(Stats), c_size_t),
    "hf_get_client_stats": (None, Pointer, POINTER(ClientStats), c_size_t),
    "hf_election_new": (c_int, Pointer, c_char_p, POINTER(ElectionOptions), OUT),
    "hf_election_free": (None, Pointer),
    "hf_election_leads": (c_bool, Pointer),
    "hf_election_lock": (c_void_p, Pointer),
    "hf_election_resign": (c_int, Pointer),
    "hf_election_join": (c_int, Pointer),
    "hf_election_list": (c_int, Pointer, c_int64, POINTER(REPORT)),
    "hf_fd": (c_int, Pointer),
    "hf_timeout_ms": (c_int, Pointer),
    "hf_process": (c_int, Pointer),
}

# Public functions that this package does not use.
LEFT_OUT = {
    "hf_err_lost": "LockLost says it",
    "hf_schema": "for administrators: holdfast schema prints it",
    "hf_name": "lock.name is kept here",
    "hf_set_follow": "a waiting thread can look by inspect()",
    "hf_store_watch_new": "for programs that show a store; watch() follows one lock",
    "hf_store_watch_free": "likewise",
    "hf_history": "holdfast history --json tells it",
    "hf_history_report_free": "likewise",
    "hf_get_stats": "client.stats counts all its locks",
    "hf_lifeline": "for guardians, which the command has",
    "hf_session_key": "for guardians; Client(guardian=True) has one",
    "hf_end_session": "for guardians; Client(guardian=True) has one",
}

lib = load()
declare(lib, PROTOTYPES)


def text(value: Any) -> str:
    """A string of the library; it may contain bytes that are not UTF-8."""
    return bytes(value).decode(errors="replace") if value else ""
