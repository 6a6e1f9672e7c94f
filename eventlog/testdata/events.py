#!/usr/bin/env python3
"""Prints the events of a log: offset, time in Unix nanoseconds, data in hexadecimal.
Of a stream, which is a directory, it prints sequence numbers in place of offsets.

usage: events.py FILE
       events.py DIRECTORY

It is written from FORMAT.md, and uses the standard library alone. It may run
while the log is written.
"""

import os
import struct
import sys
import zlib

HEADER = struct.Struct("<qqq")  # WriteOffset, EventCount, StartTimestamp
ENTRY = struct.Struct("<qII")  # Timestamp, Size, Checksum


START = 16  # where StartTimestamp is


def read(f, off, size):
    """Returns the bytes at off, fewer at the end of the file. f has no buffer, whose bytes could be old."""
    f.seek(off)
    parts = []
    while size > 0 and (part := f.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def events(f):
    """Yields (offset, timestamp, data) of all events in the open file f."""
    start = read(f, START, 8)  # first: a writer that takes back events changes it with WriteOffset
    header = read(f, 0, HEADER.size)
    if not any(header):
        return  # empty, or its writer is only just making it a log
    if len(header) < HEADER.size:
        raise ValueError(f"not a log: {len(header)} bytes are no header")
    end = HEADER.unpack(header)[0]
    if end < HEADER.size:
        raise ValueError(f"not a log: WriteOffset is {end}")
    if not any(start):
        start = header[START:]  # it has become a log in between
    off = HEADER.size
    while off < end:
        damage = None
        try:
            timestamp, data = event(f, off, end)
        except ValueError as err:
            damage = err
        if read(f, START, 8) != start:
            raise ValueError(f"at offset {off}: a writer has taken back events, perhaps some before")
        if damage:
            raise damage
        yield off, timestamp, data
        off += ENTRY.size + len(data)


def event(f, off, end):
    """Returns timestamp and data of the event at off."""
    # What WriteOffset and Size say costs no memory that the file does not have.
    length = os.fstat(f.fileno()).st_size
    limit = min(end, length)
    cut = f"WriteOffset is {end}, and the file has {length} bytes"
    head = read(f, off, ENTRY.size) if off + ENTRY.size <= limit else b""
    if len(head) < ENTRY.size:
        raise ValueError(f"damaged at offset {off}: no room for an event: {cut}")
    timestamp, size, checksum = ENTRY.unpack(head)
    if off + ENTRY.size + size > limit:
        raise ValueError(f"damaged at offset {off}: an event of {size} bytes goes past the end: {cut}")
    data = read(f, off + ENTRY.size, size)
    if len(data) < size or zlib.crc32(data, zlib.crc32(head[:12])) != checksum:
        raise ValueError(f"damaged at offset {off}: the checksum does not match")
    return timestamp, data


META = struct.Struct("<QqqqII")  # Generation, First, TruncatedTo, Truncations, Flags, Checksum
META_SLOT = 4096


class Bounds:
    """Says which events belong to a stream, as meta does."""

    def __init__(self, directory):
        newest = (0, 0, 0, 0, 0, 0)
        try:
            with open(os.path.join(directory, "meta"), "rb") as f:
                data = f.read()
        except FileNotFoundError:
            data = b""
        for slot in (0, META_SLOT):
            raw = data[slot : slot + META.size]
            if len(raw) == META.size:
                fields = META.unpack(raw)
                if fields[0] > newest[0] and zlib.crc32(raw[:-4]) == fields[5]:
                    newest = fields
        generation, self.first, self.truncated_to, self.truncations, flags, _ = newest
        if flags & ~1:
            raise ValueError(f"meta has flags of a later format: {flags}")
        if generation == 0 and any(data):
            raise ValueError("meta has no valid slot")
        self.limit = self.truncated_to if flags & 1 else 1 << 63  # no event from here on


def stream(directory):
    """Yields (sequence number, timestamp, data) of all events in a stream."""
    began = Bounds(directory)
    names = [n for n in os.listdir(directory) if len(n) == 24 and n.endswith(".log") and n[:20].isdigit()]
    starts = sorted(int(n[:20]) for n in names)
    for i, start in enumerate(starts):
        following = starts[i + 1] if i + 1 < len(starts) else None
        if start >= began.limit or following is not None and following <= began.first:
            continue
        number = start
        with open(os.path.join(directory, f"{start:020d}.log"), "rb", buffering=0) as f:
            for _, timestamp, data in events(f):
                if began.first <= number < began.limit:
                    yield number, timestamp, data
                number += 1
        now = Bounds(directory)
        if now.first > number:
            raise ValueError(f"event {number} was removed")
        more = now.truncations - began.truncations
        if more > 1 or more == 1 and now.truncated_to < number:
            raise ValueError(f"before event {number}: events that were read have been removed")
        if following is not None and following < began.limit and number != following:
            raise ValueError(f"segment {start} ends at {number}, and the next begins at {following}")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: events.py FILE|DIRECTORY")
    try:
        if os.path.isdir(sys.argv[1]):
            for number, timestamp, data in stream(sys.argv[1]):
                print(number, timestamp, data.hex())
            return
        with open(sys.argv[1], "rb", buffering=0) as f:
            for off, timestamp, data in events(f):
                print(off, timestamp, data.hex())
    except (OSError, ValueError) as err:
        sys.exit(f"events.py: {err}")


main()
