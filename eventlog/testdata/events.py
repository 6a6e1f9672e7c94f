#!/usr/bin/env python3
"""Prints the events of a log: offset, time in Unix nanoseconds, data in hexadecimal.

usage: events.py FILE

It is written from FORMAT.md, and uses the standard library alone. It may run
while the log is written.
"""

import os
import struct
import sys
import zlib

HEADER = struct.Struct("<qqq")  # WriteOffset, EventCount, StartTimestamp
ENTRY = struct.Struct("<qII")  # Timestamp, Size, Checksum


def events(f):
    """Yields (offset, timestamp, data) of all events in the open file f."""
    header = f.read(HEADER.size)
    if not any(header):
        return  # empty, or its writer is only just making it a log
    if len(header) < HEADER.size:
        raise ValueError(f"not a log: {len(header)} bytes are no header")
    end = HEADER.unpack(header)[0]
    if end < HEADER.size:
        raise ValueError(f"not a log: WriteOffset is {end}")
    # What WriteOffset and Size say costs no memory that the file does not have.
    length = os.fstat(f.fileno()).st_size
    limit = min(end, length)
    cut = f"WriteOffset is {end}, and the file has {length} bytes"
    off = HEADER.size
    while off < end:
        head = f.read(ENTRY.size) if off + ENTRY.size <= limit else b""
        if len(head) < ENTRY.size:
            raise ValueError(f"damaged at offset {off}: no room for an event: {cut}")
        timestamp, size, checksum = ENTRY.unpack(head)
        if off + ENTRY.size + size > limit:
            raise ValueError(f"damaged at offset {off}: an event of {size} bytes goes past the end: {cut}")
        data = f.read(size)
        if len(data) < size or zlib.crc32(data, zlib.crc32(head[:12])) != checksum:
            raise ValueError(f"damaged at offset {off}: the checksum does not match")
        yield off, timestamp, data
        off += ENTRY.size + size


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: events.py FILE")
    try:
        with open(sys.argv[1], "rb") as f:
            for off, timestamp, data in events(f):
                print(off, timestamp, data.hex())
    except (OSError, ValueError) as err:
        sys.exit(f"events.py: {err}")


main()
