"""txnlog - changes a server's transaction log while the server is stopped.

A log is 16 bytes, then records: checksum, size, the transaction, one byte at the end.  A transaction
begins with session, cxid, zxid, time and kind.
"""
import struct
import zlib

HEAD = struct.Struct(">qiqqi")


def rewrite(server, change):
    """`change` gets each record and returns its replacement, or None to keep it.  Returns how many
    were changed."""
    changed = 0
    for log in (server.folder / "data/version-2").glob("log.*"):
        data, count = rewritten(log.read_bytes(), change)
        if count:
            log.write_bytes(data)
        changed += count
    return changed


def rewritten(data, change):
    at, out, count = 16, data[:16], 0
    while at + 12 <= len(data):
        size, = struct.unpack_from(">i", data, at + 8)
        if size == 0:
            break
        record = data[at + 12:at + 12 + size]
        new = change(record)
        count += new is not None
        record = record if new is None else new
        out += struct.pack(">qi", zlib.adler32(record), len(record)) + record + b"B"
        at += 13 + size
    return out + data[at:], count
