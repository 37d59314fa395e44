"""Writes audit records to Annals. It loses no record that it has acknowledged. For Python 3.9 or newer, without dependencies.

    log = annals.AuditLog("https://audit.example.org", token, spool="/var/lib/shop/audit")
    log.append("volume_create", actor={"type": "user", "id": "u-19283"}, outcome="success")
    log.close()

The guarantee, the defaults and the spool's format are described in docs/clients.md.
"""

from __future__ import annotations

import base64
import collections
import collections.abc
import concurrent.futures
import contextlib
import copy
import dataclasses
import datetime
import decimal
import enum
import functools
import http.client
import ipaddress
import itertools
import json
import logging
import math
import numbers
import os
import random
import re
import ssl
import stat
import struct
import threading
import time
import types
import typing
import urllib.parse
import uuid
import zlib

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

__all__ = ["AuditHandler", "AuditLog", "BufferFull", "Receipt", "RecordRefused"]

_LOG = logging.getLogger("annals")
# The service takes 65,535 bytes, however characters are escaped; one is left for the "_" before an action.
_MAX_RECORD = 65_534
_MAX_SENT = 6 * 65_535
_MAX_ANSWER = 1 << 20
_MAX_DEPTH = 32
_MAX_VALUES = 4_096
_MAX_NUMBER = decimal.Decimal("1.7976931348623157e308")
_OVERHEAD = 400
_GROUP_RECORDS = 4_096
_GROUP_BYTES = 1 << 20
_LONGEST_REASON = 2_000
_MAGIC = b"ANNALS1\n"
_FRAME = struct.Struct(">III")
_PREFIX = b'{"id":"'
_OTHER_VERSION = re.compile(rb"ANNALS[02-9]\n")
_SEGMENT = re.compile(r"(\d{20})\.spool", re.ASCII)
_NOTED = re.compile(rb"(\d{20}) (\d{20}) ([0-9a-f]{8})\n")
_TYPE = re.compile(r'"type"\s*:\s*"urn:annals:problem:([a-z-]+)"')
_POINTER = re.compile(r'"pointer"\s*:\s*"/records/(\d{1,9})[/"]', re.ASCII)
_OF_ACTION = re.compile(r'"/records/\d{1,9}/action"', re.ASCII)
_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|.)")
_CHARACTER = r'(?:[^"\\]|\\u[0-9a-f]{4}|\\.)'
_ACTION = re.compile(
    r'\A(\{"id":"[^"]*","timestamp":"[^"]*","action":")(?!_)(' + _CHARACTER + "{1,254})" + _CHARACTER + '?"')
_UNFIT = re.compile("[\0\ud800-\udfff]")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,9})?")
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]*)?|([0-9.]+):[0-9]*")
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII)
# Problems with a record, not with the caller.
_OF_RECORDS = {"malformed-json", "invalid-record", "record-id-taken", "body-too-large", "too-many-records"}


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial)


class BufferFull(Exception):
    """The buffer stayed full for as long as an append may wait. The client did not take the record."""


class RecordRefused(Exception):
    """Raised by a receipt whose record will not be stored."""

    def __init__(self, record_id: str, reason: str, record: bytes) -> None:
        super().__init__(f"Record {record_id}: {reason}")
        self.id = record_id
        self.reason = reason
        self.record = record


class Receipt:
    """The receipt for one appended record: its id, and a future that completes when the record is safe.

    With a spool it is safe as soon as it is on disk, without one as soon as the service has stored it.
    """

    def __init__(self, record_id: str, future: concurrent.futures.Future[None]) -> None:
        self.id = record_id
        self.future = future

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the record is safe, or raises RecordRefused."""
        self.future.result(timeout)


class _Entry:
    def __init__(self, record_id, data):
        self.id = record_id
        self.data = data
        self.future = concurrent.futures.Future()
        # From now on the future cannot be cancelled.
        self.future.set_running_or_notify_cancel()

    def size(self):
        return len(self.data) + _OVERHEAD

    def renamed(self):
        """The record with "_" before its action, in at most 255 characters; None if it has that already."""
        data, count = _ACTION.subn(r'\1_\2"', self.data.decode(), count=1)
        if not count:
            return None
        entry = copy.copy(self)
        entry.data = data.encode()
        return entry


class _Ids:
    """Version 7 UUIDs: milliseconds, 12 bits of their fraction, 62 random bits; each greater than the one before."""

    def __init__(self):
        self._lock = threading.Lock()
        self._last = 0

    def next(self):
        with self._lock:
            self._last = max(self._last + 1, time.time_ns() * 4096 // 1_000_000)
            tick = self._last
        high = (tick >> 12) << 16 | 0x7000 | tick & 4095
        return uuid.UUID(int=high << 64 | 1 << 63 | int.from_bytes(os.urandom(8), "big") >> 2)


def _fit(text, most=None):
    """The text without characters that the service refuses, in at most `most` characters."""
    text = str.__str__(text)
    if most is not None and len(text) > most:
        text = text[:most - 1] + "…"
    return _UNFIT.sub("\ufffd", text)


def _stored(json_text):
    """The size of the JSON in bytes as the service counts it: without escapes."""
    return len(_ESCAPE.sub("_", json_text).encode())


def _quoted(text, room=1 << 40, growth=1 << 40):
    """The text as JSON: at most `room` bytes as stored, and at most `growth` more with escapes."""
    text = str.__str__(text)
    kept = _fit(text if len(text) <= room else text[:max(room, 0)])
    mark = "" if len(kept) == len(text) else "…"
    while True:
        quoted = json.dumps(kept + mark, ensure_ascii=False)
        size = _stored(quoted)
        # A character takes at most four bytes, and five more if it is escaped.
        excess = max(-(-(size - room) // 4), -(-(len(quoted.encode()) - size - growth) // 5))
        if excess <= 0 or not kept:
            return quoted
        kept, mark = kept[:-excess], "…"


def _unreadable(failure):
    return f"(unreadable: {type(failure).__name__})"


def _time(moment):
    moment = moment.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    digits = "seconds" if not moment.microsecond else "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return moment.isoformat(timespec=digits) + "Z"


def _moment(given):
    """The time in the service's format; None if the text is no time."""
    try:
        if not isinstance(given, datetime.datetime):
            parts = _TIMESTAMP.fullmatch(given)
            offset = 0
            if parts[8]:
                offset = (int(parts[9]) * 60 + int(parts[10])) * (-1 if parts[8] == "-" else 1)
                if int(parts[9]) > 23 or int(parts[10]) > 59:
                    return None
            zone = datetime.timezone(datetime.timedelta(minutes=offset))
            fraction = int((parts[7] or "").ljust(6, "0")[:6])
            second = int(parts[6])
            given = datetime.datetime(*(int(part) for part in parts.groups()[:5]), min(second, 59), fraction, zone)
            if second == 60:
                given = given.astimezone(datetime.timezone.utc) + datetime.timedelta(seconds=1)
                if given.month % 6 != 1 or (given.day, given.hour, given.minute, given.second) != (1, 0, 0, 0):
                    return None
            elif second > 60:
                return None
        return _time(given)
    except Exception:  # Any failure means that the value is no time.
        return None


def _address(text):
    """The IPv4 or IPv6 address in the text, without brackets, port and zone; None if there is none."""
    text = text.strip()
    port = _WITH_PORT.fullmatch(text)
    if port:
        text = port[1] or port[2]
    try:
        address = ipaddress.ip_address(text.partition("%")[0] if ":" in text else text)
        return str(address)
    except (TypeError, ValueError):
        return None


def _plain(value):
    """Converts a value to a JSON type: None, a bool, number, text, mapping or iterable. docs/clients.md has the table."""
    for _ in range(_MAX_DEPTH):
        if not isinstance(value, enum.Enum):
            break
        value = value.value
    if value is None or isinstance(value, (bool, int, float, str, decimal.Decimal, collections.abc.Mapping)):
        return value
    if isinstance(value, datetime.datetime):
        try:
            return _time(value)
        except OverflowError:  # Before the year 1 or after 9999 in UTC.
            return value.isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, collections.UserString):
        return str(value)
    if isinstance(value, _FUNCTIONS):
        return "(function)"
    if isinstance(value, BaseException):
        text = str(value)
        return type(value).__name__ + (": " + text if text else "")
    if isinstance(value, tuple) and isinstance(getattr(value, "_fields", None), tuple):
        return dict(zip(value._fields, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    if isinstance(value, (collections.abc.Sequence, collections.abc.Set, collections.abc.ValuesView, collections.deque)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational):
        return float(value)
    if isinstance(value, collections.abc.Iterator):
        # Reading an iterator would consume the application's values.
        return "(iterator)"
    return str(value)


class _Writer:
    """Writes JSON that the service accepts for any values: an attacker who chooses a value must not get the record refused.
    Cyclic values and those that are too deep, too many or too long are cut, with a mark."""

    def __init__(self, room, cuts=True):
        # Whether to cut what does not fit, and to reserve room for a mark in each container.
        self._cuts = cuts
        self._out = []
        self._path = []
        # The service does not count the metadata itself, and takes 131,072 bytes with escapes and without exponents.
        self._room, self._values, self._growth = room, _MAX_VALUES + 1, 60_000

    def text(self):
        return "".join(self._out)

    def bare(self):
        """A text without its quotes, anything else as JSON."""
        text = self.text()
        return json.loads(text) if text.startswith('"') else text

    def _state(self):
        return len(self._out), self._room, self._values, self._growth

    def _restore(self, state):
        length, self._room, self._values, self._growth = state
        del self._out[length:]

    def _put(self, json_text):
        size = _stored(json_text)
        growth = len(json_text.encode()) - size
        if size > self._room or growth > self._growth:
            return False
        self._out.append(json_text)
        self._room -= size
        self._growth -= growth
        return True

    def _literal(self, json_text):
        self._values -= 1
        return self._values >= 0 and self._put(json_text)

    def _string(self, text):
        if len(text) <= self._room:
            if self._literal(_quoted(text)):
                return True
            self._values += 1
        return self._cuts and self._room >= 40 and self._literal(_quoted(text, self._room, self._growth))

    def value(self, value, depth):
        """Writes a value; returns False, and writes nothing, if it does not fit."""
        before, levels = self._state(), len(self._path)
        try:
            plain = _plain(value)
            if plain is None or isinstance(plain, bool):
                return self._literal("null" if plain is None else "true" if plain else "false")
            if isinstance(plain, str):
                return self._string(str.__str__(plain))
            if isinstance(plain, (int, float, decimal.Decimal)):
                return self._number(plain)
            return self.container(value, plain, depth)
        except Exception as failure:  # Whatever the value's own code raises.
            self._restore(before)
            del self._path[levels:]
            return self._string(_unreadable(failure))

    def _number(self, number):
        if isinstance(number, int):
            if number.bit_length() > 13_000:
                return self._string("(a number of more than 3,900 digits)")
            text = int.__repr__(number)
        else:
            text = float.__repr__(number) if isinstance(number, float) else decimal.Decimal.__str__(number)
            if isinstance(number, float) and not math.isfinite(number):
                text = {"nan": "NaN", "inf": "Infinity"}.get(text, "-Infinity")
        if len(text) <= 400 and _NUMBER.fullmatch(text):
            _, digits, exponent = decimal.Decimal(text).as_tuple()
            written = max(len(digits), len(digits) + exponent, -exponent) + 3
            growth = written if "e" in text.lower() else 0
            if written <= 400 and growth <= self._growth and abs(decimal.Decimal(text)) <= _MAX_NUMBER:
                self._growth -= growth
                return self._literal(text)
        return self._string(text)

    def container(self, value, plain, depth):
        if depth > _MAX_DEPTH:
            return self._string("…")
        if any(outer is value for outer in self._path):
            return self._string("(cyclic)")
        is_object = isinstance(plain, collections.abc.Mapping)
        before = self._state()
        if not self._literal("{}" if is_object else "[]") or not self._reserve(-1):
            self._restore(before)
            return False
        self._out[-1] = self._out[-1][0]
        self._path.append(value)
        closed = self._parts(plain, is_object, depth)
        self._path.pop()
        self._out.append("}" if is_object else "]")
        return closed

    def _reserve(self, sign):
        """Reserves the room of a mark, or releases it."""
        if self._cuts:
            self._room += sign * 80
            self._values += sign * 2
        return self._room >= 0 and self._values >= 0

    def _parts(self, plain, is_object, depth):
        names, mark, is_first = set(), None, True
        try:
            for part in plain.items() if is_object else plain:
                start = self._state()
                if not self._part(part, is_object, names, is_first, depth):
                    self._restore(start)
                    mark = "(cut)"
                    break
                is_first = False
        except Exception as failure:  # Another thread may change the dict. The entries read so far stay.
            mark = _unreadable(failure)
        self._reserve(1)
        return mark is None or self._cuts and self._part(
            ("…", mark) if is_object else mark, is_object, names, is_first, depth)

    def _part(self, part, is_object, names, is_first, depth):
        if not is_first and not self._put(","):
            return False
        if not is_object:
            return self.value(part, depth + 1)
        key, value = part
        name = unique = self._name(key, depth)
        count = 1
        while unique in names:
            count += 1
            unique = f"{name} ({count})"
        if not self._literal(_quoted(unique) + ":") or not self.value(value, depth + 1):
            return False
        names.add(unique)
        return True

    def _name(self, key, depth):
        """A name is the text of what the key would be as a value."""
        try:
            plain = _plain(key)
        except Exception as failure:  # The key's own code may raise anything.
            plain = _unreadable(failure)
        if isinstance(plain, str):
            return _fit(plain, 1_024)
        inner = _Writer(1_024)
        inner._path = list(self._path)
        inner.value(key, depth + 1)
        return inner.bare()


def _text(value):
    """The text of a field's value; None for None."""
    try:
        plain = _plain(value)
        if plain is None or isinstance(plain, str):
            return plain
        # The str() of a container may have no end.
        writer = _Writer(_MAX_RECORD)
        writer.value(value, 1)
        return writer.bare()
    except Exception as failure:  # Whatever the value's own code raises.
        return _unreadable(failure)


def _party(given, misfits, name):
    if not isinstance(given, collections.abc.Mapping):
        text = _text(given)
        return "{" + '"id":' + _quoted(_fit(text, 1_024)) + "}" if text is not None else None
    fields, others = [], {}
    for key, value in itertools.islice(given.items(), _MAX_VALUES):
        text = _text(value) if key in ("type", "id", "name") else None
        if text is not None:
            fields.append(f'"{key}":' + _quoted(_fit(text, 255 if key == "type" else 1_024)))
        elif key not in ("type", "id", "name"):
            others[key] = value
    if others:
        misfits[name] = others
    return "{" + ",".join(fields) + "}" if fields else None


def _record(record_id, given):
    """The JSON of a record that the service accepts. A value that does not fit its field goes into the metadata."""
    misfits, fields = {}, []

    def add(name, quoted, otherwise=None):
        if quoted is not None:
            fields.append(f'"{name}":{quoted}')
        elif otherwise is not None:
            misfits[name] = otherwise

    timestamp = _plain_or_none(given["timestamp"])
    moment = None if timestamp is None else _moment(timestamp)
    now = _time(datetime.datetime.now(datetime.timezone.utc))
    add("id", _quoted(str(record_id)))
    add("timestamp", _quoted(moment or now))
    if moment is None and timestamp is not None:
        misfits["timestamp"] = _fit(_text(timestamp), 1_024)
    action = _text(given["action"]) or "(none)"
    add("action", _quoted(_fit(action, 255)))
    for name in ("actor", "subject"):
        try:
            add(name, _party(given[name], misfits, name))
        except Exception as failure:  # A mapping's own code may raise anything.
            misfits[name] = _unreadable(failure)
    outcome = _text(given["outcome"])
    add("outcome", _quoted(_fit(outcome, 64)) if outcome else None)
    address = _text(given["ip_address"])
    if address:
        bare = _address(address) if len(address) <= 100 else None
        add("ip_address", bare and _quoted(bare), _fit(address, 1_024))
    number = given["number"]
    if number is not None:
        sequence = number.get("sequence") if isinstance(number, dict) else None
        named = isinstance(sequence, str) and re.fullmatch("[A-Za-z0-9._-]{1,128}", sequence)
        add("number", '{"sequence":' + _quoted(sequence) + "}" if named else None, number)
    metadata = given["metadata"]
    if metadata is not None and not isinstance(metadata, collections.abc.Mapping):
        misfits["metadata"] = metadata
    return _with_message(fields, _text(given["message"]), metadata if isinstance(metadata, collections.abc.Mapping) else {},
                         misfits)


def _plain_or_none(value):
    """A time as it is; any other value as text."""
    return value if value is None or isinstance(value, datetime.datetime) else _text(value)


def _with_message(fields, message, metadata, misfits):
    room = _MAX_RECORD - _stored(",".join(fields) + '{},"message":,"metadata":')
    size = 0 if message is None else _stored(_quoted(message, room))
    more = ""
    # First without cutting: that needs no room for marks.
    for cuts in (False, True):
        writer = _Writer(room - min(size, room // 2), cuts)
        if writer.container(metadata, _Both(misfits, metadata), 1) or cuts:
            more = writer.text()
            break
    if message is not None:
        fields.append('"message":' + _quoted(message, room - _stored(more)))
    if len(more) > 2:
        fields.append('"metadata":' + more)
    return ("{" + ",".join(fields) + "}").encode()


class _Both(collections.abc.Mapping):
    """The misfits, renamed where the metadata has their names, then the metadata."""

    def __init__(self, misfits, metadata):
        self._misfits = misfits
        self._metadata = metadata

    def items(self):
        for name, value in self._misfits.items():
            yield name + " (given)" if name in self._metadata else name, value
        yield from self._metadata.items()

    def __getitem__(self, name):
        return self._metadata[name]

    def __iter__(self):
        return iter(self._metadata)

    def __len__(self):
        return len(self._metadata)


def _pwrite(file, data, offset):
    os.lseek(file, offset, os.SEEK_SET)
    left = memoryview(data)
    while left:
        left = left[os.write(file, left):]


def _pread(file, length, offset):
    os.lseek(file, offset, os.SEEK_SET)
    parts = []
    while length > 0:
        part = os.read(file, length)
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


class _Folder:
    """The folder of a spool. One process has it, and only its user may read it.

    The process has made the file owner-N with the highest number: of two that start together, only one can make it. It renews
    the file's time each second, which processes in other containers can see. Java, Python and Go also lock the file "lock":
    the system releases that with the process, at once. Node cannot lock files.
    """

    _in_use: set[str] = set()
    _owners = re.compile(r"owner-([0-9]{1,18})")
    # A process whose file is older has ended, or stands still. If it goes on, it finds that the folder is no longer its own.
    _stale = 10.0

    def __init__(self, path):
        if not os.path.isdir(path):
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            os.mkdir(path, 0o700)
        self.path = os.path.realpath(path)
        if os.name == "posix":
            found = os.stat(self.path)
            if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise OSError(f"Others may write to the spool {path}: run chmod go-w on it")
            if found.st_uid != os.geteuid():
                raise OSError(f"The spool {path} belongs to the user {found.st_uid}, who could add records: name a folder of"
                              f" {os.geteuid()}")
        # The system grants such a lock twice within a process.
        if self.path in self._in_use:
            raise self._taken()
        self._in_use.add(self.path)
        self._lock = self._owner = None
        self._closed = threading.Event()
        try:
            self._take()
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._beat, name="annals-spool", daemon=True).start()

    def _take(self):
        pid, began = self._process("self") or (str(os.getpid()), "0")
        space = "-"
        with contextlib.suppress(OSError):
            space = os.readlink("/proc/self/ns/pid")
        self._note = f"{pid} {began} {space} locks {uuid.uuid4()}\n".encode()
        before = self._numbers()
        last = f"owner-{max(before)}" if before else None
        noted = (last and self._read(last) or b"").decode("latin-1")
        # Another copy of this module has it: opening and closing the file would release its lock.
        if noted.startswith(f"{pid} {began} {space} ") and (space != "-" or self._beats(last)):
            raise self._taken()
        self._take_lock()
        if last and self._is_alive(last, noted.split(), space):
            raise self._taken()
        number = max(before, default=0) + 1
        try:
            made = self.open(f"owner-{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError as failure:
            raise self._taken() from failure
        self._owner = f"owner-{number}"
        try:
            _pwrite(made, self._note, 0)
        except OSError:
            # On a full disk the file stays empty: what the spool has can still be sent.
            os.ftruncate(made, 0)
            self._note = b""
        finally:
            os.close(made)
        # The process that listed the files before this one began may be slower than those after it.
        now = self._numbers()
        if max(now) > number:
            raise self._taken()
        for older in now:
            if older < number:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.file(f"owner-{older}"))

    def _take_lock(self):
        self._lock = self.open("lock", os.O_CREAT | os.O_RDWR)
        try:
            if fcntl:
                fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                msvcrt.locking(self._lock, msvcrt.LK_NBLCK, 1)
        except OSError as failure:
            raise self._taken() from failure

    @staticmethod
    def _process(pid):
        """The number and the start time, which tells processes with the same number apart; None if it has ended."""
        try:
            with open(f"/proc/{pid}/stat", encoding="latin-1") as process:
                state = process.read()
            fields = state.rpartition(")")[2].split()
            # A zombie is still listed.
            return None if fields[0] in "ZX" else (state.split(" ", 1)[0], fields[19])
        except (OSError, IndexError):
            return None

    def _is_alive(self, name, noted, space):
        if len(noted) > 3 and noted[3] == "locks":
            # It would still have the lock that this process has now.
            return False
        if len(noted) > 3 and noted[2] == space != "-":
            process = self._process(noted[0])
            return process is not None and process[1] == noted[1]
        return self._beats(name)

    def _beats(self, name):
        try:
            seen = os.stat(self.file(name)).st_mtime_ns
            while abs(time.time() - seen / 1e9) < self._stale:
                time.sleep(0.1)
                if os.stat(self.file(name)).st_mtime_ns != seen:
                    return True
        except FileNotFoundError:
            pass  # It has closed the spool.
        return False

    def _beat(self):
        while not self._closed.wait(1):
            with contextlib.suppress(OSError):  # If the file is gone, require_owned() says so.
                os.utime(self.file(self._owner))

    def _numbers(self):
        names = (self._owners.fullmatch(name) for name in os.listdir(self.path))
        return [int(name[1]) for name in names if name]

    def _read(self, name):
        """None if there is no such file."""
        try:
            with open(self.file(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def is_owned(self):
        return self._read(self._owner) == self._note

    def require_owned(self):
        """Another process takes the folder if this one stood still for long. It sends what is there."""
        if not self.is_owned():
            raise OSError(f"The spool {self.path} was taken by another process, or its files were removed: start this process"
                          " again, with a folder of its own")

    def _taken(self):
        return OSError(f"The spool {self.path} is in use: give each process a folder of its own")

    def file(self, name):
        return os.path.join(self.path, name)

    def open(self, name, flags):
        return os.open(self.file(name), flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o600)

    def force(self):
        """Forces the names of new files to disk, if the system supports it."""
        if os.name == "posix":
            directory = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)

    def close(self):
        self._closed.set()
        try:
            if self._owner and self.is_owned():
                os.unlink(self.file(self._owner))
            if self._lock is not None:
                os.close(self._lock)
        finally:
            self._in_use.discard(self.path)


class _Spool:
    """Keeps records on disk until the service has stored them. One thread writes, one reads. docs/clients.md has the format.

    A process never writes into a file that another process began. If a file is shorter than the noted place, because a loss
    of power took its end, no later record can fill that gap and be skipped. Records are acknowledged, and files deleted, only
    while the folder is this process's own: another one took it first and then looked for files, so it has found all that was
    acknowledged.
    """

    # A file that cannot be read so often in a row is left to the next start, as others wait behind it.
    _most_failures = 3

    def __init__(self, path, changed, *, max_bytes, segment_bytes, force, batch_records, batch_bytes):
        if segment_bytes < 1 << 19 or max_bytes < 2 * segment_bytes:
            raise ValueError("A spool's file may be full at 524288 bytes at the least, and a spool has room for two")
        self._changed = changed
        self._max_bytes = max_bytes
        self._segment_bytes = segment_bytes
        self._force = force
        self._batch_records = batch_records
        self._batch_bytes = batch_bytes
        self.folder = _Folder(path)
        try:
            self._place = self.folder.open("acknowledged", os.O_CREAT | os.O_RDWR)
            self._ends = self._find_segments()
            self._active = 0
            self._unreadable = 0
            self._out = None
            self._out_end = 0
            self._in = None
            self._in_segment = 0
            self._given_end = 0
            self._failures = 0
            self._to_keep = 0
            self._reported = 0
            self.stopped = False
            self.closed = False
            self._start_behind_what_is_acknowledged()
        except BaseException:
            self.folder.close()
            raise

    def _find_segments(self):
        ends = {}
        for name in os.listdir(self.folder.path):
            segment = _SEGMENT.fullmatch(name)
            if segment:
                file = self.folder.open(name, os.O_RDONLY)
                try:
                    size = os.fstat(file).st_size
                    if _OTHER_VERSION.fullmatch(_pread(file, len(_MAGIC), 0)):
                        raise OSError(f"{self.folder.file(name)} is not a spool's file of this version")
                    # It is shorter if its process ended before it wrote the header.
                    ends[int(segment[1])] = size if size >= len(_MAGIC) else 0
                finally:
                    os.close(file)
        return ends

    def _start_behind_what_is_acknowledged(self):
        noted = _NOTED.fullmatch(_pread(self._place, 51, 0))
        self._noted = 0, len(_MAGIC)
        if noted and zlib.crc32(noted[1] + b" " + noted[2]) == int(noted[3], 16):
            self._noted = int(noted[1]), max(len(_MAGIC), int(noted[2]))
        self._last = max([self._noted[0], *self._ends])
        self._go_to(min(self._ends, default=self._last + 1))

    def _go_to(self, segment):
        self._read_segment = segment
        self._read_offset = self._noted[1] if segment == self._noted[0] else len(_MAGIC)

    @staticmethod
    def _name(segment):
        return f"{segment:020d}.spool"

    def write(self, group):
        """Writes records; False if the spool is full and was stopped. If this raises, write them again."""
        frames = bytearray()
        for entry in group:
            header = struct.pack(">I", len(entry.data))
            header += struct.pack(">I", zlib.crc32(entry.data, zlib.crc32(header)))
            frames += header + struct.pack(">I", zlib.crc32(header)) + entry.data
        with self._changed:
            self._changed.wait_for(lambda: self.stopped or self.bytes() + len(frames) <= self._max_bytes)
            if self.stopped and self.bytes() + len(frames) > self._max_bytes:
                return False
            ends = self._out is None or (
                self._out_end + len(frames) > self._segment_bytes or self._unreadable == self._active)
        self.folder.require_owned()
        try:
            if ends:
                self._close_out()
                self._begin()
            _pwrite(self._out, frames, self._out_end)
            if self._force:
                getattr(os, "fdatasync", os.fsync)(self._out)
            self.folder.require_owned()
        except OSError:
            self._abandon()
            raise
        self._out_end += len(frames)
        with self._changed:
            self._ends[self._active] = self._out_end
            self._changed.notify_all()
        return True

    def _begin(self):
        while self._out is None:
            try:
                self._out = self.folder.open(self._name(self._last + 1), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            except FileExistsError:
                pass  # A process that lost the folder while it began a file made this one. The next start reads it.
            self._last += 1
        self._out_end = 0
        _pwrite(self._out, _MAGIC, 0)
        os.fsync(self._out)
        self.folder.force()
        self._out_end = len(_MAGIC)
        with self._changed:
            self._active = self._last
            self._ends[self._active] = self._out_end
            self._changed.notify_all()

    def _abandon(self):
        # A disk that has failed once may have lost data of this file. Further records go into another file.
        if self._out is None:
            return
        try:
            if self._out_end > len(_MAGIC):
                os.ftruncate(self._out, self._out_end)
                self._close_out()
            else:
                # A disk that is full for hours must not fill with empty files.
                self._close_out()
                with self._changed:
                    self._ends.pop(self._last, None)
                    os.unlink(self.folder.file(self._name(self._last)))
        except OSError as failure:
            _LOG.warning("A file of the spool in %s could not be cut: %s", self.folder.path, failure)
            self._close_out()

    def _close_out(self):
        with self._changed:
            self._active = 0
            self._changed.notify_all()
        if self._out is not None:
            out, self._out = self._out, None
            with contextlib.suppress(OSError):
                os.close(out)

    def next(self):
        """Waits for records and returns the oldest; None once the spool is closed and empty, or stopped."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self.stopped or self.closed or not self._at_the_end())
                if self.stopped or self._at_the_end():
                    return None
                segment = self._read_segment
                end = self._ends.get(segment, 0)
            self.folder.require_owned()
            if self._read_offset < end:
                batch = self._read_or_leave(segment, end)
                if batch:
                    return batch
            with self._changed:
                is_complete = self._read_segment == segment != self._active
                if is_complete and self._read_offset >= self._ends.get(segment, 0):
                    self._next_segment()

    def _at_the_end(self):
        if self._read_segment == self._active or not self._ends:
            return (self._active and self._unreadable == self._active) or (
                self._read_offset >= self._ends.get(self._read_segment, 0))
        return False

    def _read_or_leave(self, segment, end):
        try:
            batch = self._read(segment, end)
            self._failures = 0
            return batch
        except FileNotFoundError:
            self._leave(segment, "was removed before all its records were stored")
        except OSError as failure:
            self._close_in()
            self._failures += 1
            if self._failures < self._most_failures:
                raise
            self._leave(segment, f"stays for the next start, as it cannot be read: {failure}")
        return []

    def _leave(self, segment, reason):
        self._failures = 0
        _LOG.error("The spool's file %s %s", self.folder.file(self._name(segment)), reason)
        with self._changed:
            if segment == self._active:
                self._unreadable = segment
            else:
                del self._ends[segment]
                self._go_behind(segment)

    def _read(self, segment, end):
        """Returns nothing if there is no whole record at the place, which is then behind the damage."""
        if self._in_segment != segment:
            self._close_in()
            self._in = self.folder.open(self._name(segment), os.O_RDONLY)
            self._in_segment = segment
        most = self._batch_bytes + _FRAME.size + _MAX_SENT
        data = _pread(self._in, min(most, end - self._read_offset), self._read_offset)
        batch, at, size = [], 0, 0
        while len(batch) < self._batch_records and size < self._batch_bytes:
            entry = self._entry(data, at)
            if entry is None:
                break
            batch.append(entry)
            size += len(entry.data) + 1
            at += _FRAME.size + len(entry.data)
        self._given_end = self._read_offset + at
        if not batch:
            behind = self._behind_damage(segment, data, end)
            with self._changed:
                self._read_offset = behind
        return batch

    @staticmethod
    def _length(data, at):
        """The length of the record, which the header's own checksum confirms; None if no frame begins there."""
        if len(data) - at < _FRAME.size:
            return None
        length, _, checksum = _FRAME.unpack_from(data, at)
        return length if 0 < length <= _MAX_SENT and zlib.crc32(data[at:at + 8]) == checksum else None

    @classmethod
    def _entry(cls, data, at):
        length = cls._length(data, at)
        start = at + _FRAME.size
        if length is None or length > len(data) - start:
            return None
        record = data[start:start + length]
        if zlib.crc32(record, zlib.crc32(data[at:at + 4])) != _FRAME.unpack_from(data, at)[1] or record[:7] != _PREFIX:
            return None
        try:
            return _Entry(str(uuid.UUID(record[7:43].decode("ascii"))), record)
        except ValueError:
            return None

    def _behind_damage(self, segment, data, end):
        # If the last frame is shorter than its header says, or its header is cut off, its process ended while it wrote, and the
        # record was never acknowledged. Anything else is damage: the file is kept, and the records behind are sent.
        if len(data) < _FRAME.size or (self._length(data, 0) or 0) > len(data) - _FRAME.size:
            return end
        self._keep(segment)
        found = data.find(_PREFIX, _FRAME.size + 1)
        while found >= 0:
            if self._entry(data, found - _FRAME.size):
                return self._read_offset + found - _FRAME.size
            found = data.find(_PREFIX, found + 1)
        # A frame may begin in these bytes and end behind them.
        is_end = self._read_offset + len(data) >= end
        return end if is_end else self._read_offset + len(data) - _FRAME.size - _MAX_SENT

    def _keep(self, segment):
        if self._reported == segment:
            return
        file = self.folder.file(self._name(segment))
        damaged = self._damaged(file)
        # A second name needs no room on a disk that may be full. Without hard links, the file is renamed, not deleted.
        try:
            if not os.path.exists(damaged):
                os.link(file, damaged)
        except OSError:
            self._to_keep = segment
        self._reported = segment
        _LOG.error("The spool's file %s is damaged at byte %d: it is kept as %s, and its records before and behind the damage"
                   " are sent", file, self._read_offset, damaged)

    @staticmethod
    def _damaged(file):
        """The name for a damaged file: that of another one is never taken."""
        names = itertools.chain([f"{file}.damaged"], (f"{file}.damaged-{number}" for number in itertools.count(2)))
        return next(name for name in names if not os.path.exists(name) or os.path.samefile(name, file))

    def settled(self):
        """Removes the records that next() returned last: all are stored or refused."""
        self.folder.require_owned()
        with self._changed:
            self._read_offset = self._given_end
            self._note()
            if self._read_segment != self._active and self._read_offset >= self._ends.get(self._read_segment, 0):
                self._next_segment()
            self._changed.notify_all()

    def _next_segment(self):
        done = self._read_segment
        self._go_behind(done)
        self._delete(done)
        self._note()
        self._changed.notify_all()

    def _go_behind(self, segment):
        self._go_to(min((number for number in self._ends if number > segment), default=segment + 1))

    def _note(self):
        # Not forced to disk: if the place is lost, records are sent again, and the service recognizes their ids.
        text = b"%020d %020d" % (self._read_segment, self._read_offset)
        try:
            _pwrite(self._place, text + b" %08x\n" % zlib.crc32(text), 0)
        except OSError as failure:
            _LOG.warning("The place in the spool %s was not noted: %s", self.folder.path, failure)

    def _delete(self, segment):
        self._ends.pop(segment, None)
        try:
            if self._in_segment == segment:
                self._close_in()
            file = self.folder.file(self._name(segment))
            if self._to_keep == segment:
                os.rename(file, self._damaged(file))
            else:
                os.unlink(file)
        except FileNotFoundError:
            pass
        except OSError as failure:
            _LOG.warning("A file of the spool whose records are stored stays: %s", failure)

    def _close_in(self):
        self._in_segment = 0
        if self._in is not None:
            file, self._in = self._in, None
            os.close(file)

    def end(self):
        """The end of all records written so far."""
        last = max(self._ends, default=0)
        return last, self._ends.get(last, 0)

    def is_behind(self, end):
        segment, offset = end
        if self._read_segment != segment:
            return self._read_segment > segment
        return self._read_offset >= min(offset, self._ends.get(segment, 0))

    def bytes(self):
        return sum(self._ends.values())

    def keep_refused(self, refusal):
        line = b'{"reason":' + json.dumps(refusal.reason).encode() + b',"record":' + refusal.record + b"}\n"
        file = self.folder.open("refused.ndjson", os.O_CREAT | os.O_WRONLY)
        try:
            _pwrite(file, line, os.fstat(file).st_size)
            os.fsync(file)
        finally:
            os.close(file)

    def close(self):
        """Releases the folder, after the threads have ended. A file is deleted if all its records are stored."""
        with self._changed:
            written = self._active
        self._close_out()
        with self._changed:
            is_stored = self._read_segment == written and self._read_offset >= self._ends.get(written, 0)
            if written and is_stored and self.folder.is_owned():
                self._next_segment()
        self._close_in()
        os.close(self._place)
        self.folder.close()


class _Endpoint:
    """The HTTP endpoint for batches. Records count as stored only if the answer names their ids, and as refused only if the
    answer is a problem that the service defines."""

    def __init__(self, url, token, timeout, context):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ValueError("The address of the service is http:// or https://, a host, and maybe a port and a path")
        self._parts = parts
        self._path = parts.path.rstrip("/") + "/v1/project-logs/batch"
        self._token = token if callable(token) else lambda: token
        self._timeout = timeout
        self._context = context or ssl.create_default_context() if parts.scheme == "https" else None
        self._connection = None
        self._connecting = concurrent.futures.Future()
        self._lock = threading.Lock()
        self._aborted = False

    def abort(self):
        """Ends the request in flight, also if the other side sends nothing."""
        with self._lock:
            self._aborted = True
            self._cut()

    def _expire(self, connection):
        with self._lock:
            if connection is self._connection:
                self._cut()

    def _cut(self):
        self._connecting.cancel()
        sock = self._connection.sock if self._connection else None
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(2)

    def send(self, entries):
        """Returns ("stored", None), ("refused", {index: reason}), ("split", reason) or ("later", (reason, pause))."""
        try:
            token = self._token()
            if not re.fullmatch("[!-~]+", token):
                raise ValueError("a token is made of visible ASCII characters")
        except Exception as failure:  # The application's code raised this. Its message may contain the token, so it is left out.
            return "later", (f"There is no token: {type(failure).__name__}", None)
        body = b'{"records":[' + b",".join(entry.data for entry in entries) + b"]}"
        headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json",
                   "Accept": "application/json, application/problem+json"}
        try:
            response, text = self._exchange(body, headers)
        except (OSError, http.client.HTTPException, ValueError, concurrent.futures.CancelledError) as failure:
            self._drop()
            return "later", (f"There is no answer: {type(failure).__name__}: {failure}", None)
        return self._read(response, text, entries)

    def _exchange(self, body, headers):
        with self._lock:
            if self._aborted:
                raise OSError("the client is being closed")
            if self._connection is None:
                kind = http.client.HTTPSConnection if self._context else http.client.HTTPConnection
                more = {"context": self._context} if self._context else {}
                self._connection = kind(
                    self._parts.hostname, self._parts.port, timeout=min(10, self._timeout), **more)
            connection = self._connection
            self._connecting = concurrent.futures.Future()
        # A socket's timeout applies to each read. Only this timer limits the whole request.
        limit = threading.Timer(self._timeout, self._expire, (connection,))
        limit.daemon = True
        limit.start()
        try:
            if connection.sock is None:
                self._connect(connection, self._connecting)
                connection.sock.settimeout(self._timeout)
            connection.request("POST", self._path, body, headers)
            response = connection.getresponse()
            text = response.read(_MAX_ANSWER + 1)
            if len(text) > _MAX_ANSWER:
                raise OSError(f"the answer has more than {_MAX_ANSWER} bytes")
            return response, text.decode("utf-8", "replace")
        finally:
            limit.cancel()

    @staticmethod
    def _connect(connection, connected):
        # Nothing interrupts a look-up of a name or a handshake. Another thread waits for them, so that a close does not.
        def connect():
            failure = None
            try:
                connection.connect()
            except Exception as cause:
                failure = cause
            if not connected.set_running_or_notify_cancel():
                connection.close()
            elif failure:
                connected.set_exception(failure)
            else:
                connected.set_result(None)

        threading.Thread(target=connect, name="annals-connector", daemon=True).start()
        connected.result()

    def _drop(self):
        with self._lock:
            if self._connection:
                self._connection.close()
                self._connection = None

    @staticmethod
    def _read(response, text, entries):
        if response.status in (200, 201):
            at = 0
            for entry in entries:
                at = text.find(entry.id, at)
                if at < 0:
                    return "later", ("The answer does not name the records: this is not the service", None)
            return "stored", None
        reason = f"Status {response.status}: {text[:_LONGEST_REASON]}"
        problem = _TYPE.search(text)
        of_service = (response.getheader("Content-Type") or "").startswith("application/problem+json")
        if of_service and problem and problem[1] in _OF_RECORDS:
            refused = {}
            for pointer in _POINTER.finditer(text):
                if int(pointer[1]) < len(entries):
                    start, end = max(0, text.rfind("{", 0, pointer.start())), text.find("}", pointer.end())
                    refused.setdefault(int(pointer[1]), text[start:end + 1 if end >= 0 else None][:_LONGEST_REASON])
            return ("refused", refused) if refused else ("split", reason)
        # A proxy may take less than the service.
        if response.status == 413 and len(entries) > 1:
            return "split", reason
        pause = response.getheader("Retry-After") or ""
        return "later", (reason, int(pause) if re.fullmatch("[0-9]{1,9}", pause) else None)


class AuditLog:
    """Sends records in order, many in one request, until the service has stored them.

    url, token        the service's address, and a token or a function that returns it before each request
    spool             a folder that keeps records until they are stored; None for memory alone
    spool_bytes, segment_bytes          the sizes of the spool and of one of its files, in bytes
    force             whether a record is acknowledged only once it is on the disk
    buffer_records, buffer_bytes        the most that may wait in memory
    append_timeout    seconds that an append waits while the buffer is full, before it raises BufferFull; 0 to raise at once
    batch_records, batch_bytes          the most records and bytes of one request
    request_timeout   seconds that one request may take
    first_pause, longest_pause          seconds between attempts; the pause doubles with each failure
    give_up_after     seconds of failures after which the records of a request are refused; None for never
    on_refusal        called with a RecordRefused for each record that will not be stored; the default writes to the spool's
                      file refused.ndjson, or logs the ids if there is no spool
    ssl_context       for https, if the system's default does not fit

    Any thread may append. A child process made by fork must open its own AuditLog.
    """

    def __init__(self, url: str, token: str | typing.Callable[[], str], *, spool: str | os.PathLike[str] | None = None,
                 spool_bytes: int = 1 << 30, segment_bytes: int = 16 << 20, force: bool = True, buffer_records: int = 10_000,
                 buffer_bytes: int = 32 << 20, append_timeout: float = 30, batch_records: int = 1_000,
                 batch_bytes: int = 900_000, request_timeout: float = 60, first_pause: float = 0.1,
                 longest_pause: float = 30, give_up_after: float | None = None,
                 on_refusal: typing.Callable[[RecordRefused], object] | None = None,
                 ssl_context: ssl.SSLContext | None = None) -> None:
        self._endpoint = _Endpoint(url, token, request_timeout, ssl_context)
        self._changed = threading.Condition()
        self._buffer: collections.deque[_Entry] = collections.deque()
        self._buffer_records = buffer_records
        self._buffer_limit = max(buffer_bytes, 1 << 19)
        self._buffer_bytes = 0
        self._append_timeout = append_timeout
        self._first_pause = first_pause
        self._longest_pause = longest_pause
        self._give_up_after = give_up_after
        self._on_refusal = on_refusal
        self._counts = dict.fromkeys(("appended", "stored", "refused", "turned_away", "batches", "retries"), 0)
        self._removed = 0
        self._last_failure = ""
        self._failing: set[str] = set()
        self._ids = _Ids()
        self._pid = os.getpid()
        self._closed = False
        self._closing = threading.Lock()
        self._settled: bool | None = None
        self._stop = threading.Event()
        self._batch = min(batch_records, 1_000), min(batch_bytes, 16_000_000)
        self._spool = None
        if spool is not None:
            self._spool = _Spool(os.fspath(spool), self._changed, max_bytes=spool_bytes, segment_bytes=segment_bytes,
                                 force=force, batch_records=self._batch[0], batch_bytes=self._batch[1])
            self._batch = _GROUP_RECORDS, min(_GROUP_BYTES, segment_bytes // 2)
        self._threads = [threading.Thread(target=self._send_all, name="annals-sender", daemon=True)]
        if self._spool:
            self._threads.append(threading.Thread(target=self._write_spool, name="annals-spooler", daemon=True))
        for thread in self._threads:
            thread.start()

    def append(self, action: object, *, id: str | uuid.UUID | None = None, timestamp: object = None,
               actor: object = None, subject: object = None, outcome: object = None, ip_address: object = None,
               message: object = None, metadata: object = None, number: object = None) -> Receipt:
        """Takes a record and returns its receipt. While the buffer is full, it waits up to append_timeout.

        Raises BufferFull if the buffer stays full, ValueError for an id that is no UUID. The service accepts any other value:
        a value that it would refuse is cut, replaced, or moved into the metadata.
        """
        if os.getpid() != self._pid:
            raise RuntimeError("This audit log belongs to the parent process: open one after the fork")
        record_id = str(uuid.UUID(str(id))) if id else str(self._ids.next())
        data = _record(record_id, {
            "timestamp": timestamp, "action": action, "actor": actor, "subject": subject, "outcome": outcome,
            "ip_address": ip_address, "message": message, "metadata": metadata, "number": number})
        entry = _Entry(record_id, data)
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._has_room(entry), self._append_timeout)
            if self._closed:
                raise RuntimeError("The audit log is closed: the record was not taken")
            if not self._has_room(entry):
                self._counts["turned_away"] += 1
                raise BufferFull(f"The buffer is full: {len(self._buffer)} records, {self._buffer_bytes} bytes wait")
            self._buffer.append(entry)
            self._buffer_bytes += entry.size()
            self._counts["appended"] += 1
            self._changed.notify_all()
        return Receipt(record_id, entry.future)

    def _has_room(self, entry):
        return len(self._buffer) < self._buffer_records and self._buffer_bytes + entry.size() <= self._buffer_limit

    def flush(self, timeout: float) -> bool:
        """Waits until all records appended before this call are stored or refused; False if the timeout ends first."""
        end = time.monotonic() + timeout
        with self._changed:
            target = self._counts["appended"]
            if not self._changed.wait_for(lambda: self._removed >= target or self._stop.is_set(), timeout):
                return False
            spool = self._spool
            if spool is None or self._removed < target:
                return self._removed >= target
            place = spool.end()
            self._changed.wait_for(lambda: spool.is_behind(place) or self._stop.is_set(), max(0, end - time.monotonic()))
            return spool.is_behind(place)

    def metrics(self) -> dict[str, int | str]:
        """The counters of this client."""
        with self._changed:
            return {**self._counts, "buffered_records": len(self._buffer), "buffered_bytes": self._buffer_bytes,
                    "spool_bytes": self._spool.bytes() if self._spool else 0, "last_failure": self._last_failure}

    def close(self, timeout: float = 30) -> bool:
        """Takes no more records and waits until the records taken are stored or refused; False if the timeout ends first.

        It returns then, once all is on disk, also while a name server or the service does not answer: the spool keeps the rest
        for the next client. Without a spool, on_refusal gets the rest. Further calls wait for the first one and return its
        result.
        """
        with self._closing:
            if self._settled is None:
                self._settled = self._close(timeout)
            return self._settled

    def _close(self, timeout):
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        settled = self.flush(timeout)
        self._stop.set()
        with self._changed:
            if self._spool:
                self._spool.stopped = True
            self._changed.notify_all()
        self._endpoint.abort()
        for thread in self._threads:
            thread.join()
        for entry in list(self._buffer):
            where = "written to the spool" if self._spool else "stored"
            try:
                self._refuse(entry, f"The client was closed before the record was {where}. {self._last_failure}")
            except Exception:
                _LOG.exception("Record %s is lost, as it could not be handed back", entry.id)
        if self._spool:
            self._spool.close()
        return settled

    def __enter__(self) -> AuditLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self):
        records, limit = self._batch
        with self._changed:
            self._changed.wait_for(lambda: self._buffer or self._closed)
            # The spool also takes the records left at the end.
            if not self._buffer or (self._stop.is_set() and not self._spool):
                return None
            batch, size = [], 0
            for entry in self._buffer:
                size += len(entry.data) + 1
                if batch and (len(batch) == records or size > limit):
                    break
                batch.append(entry)
            return batch

    def _remove(self, count):
        with self._changed:
            for _ in range(count):
                self._buffer_bytes -= self._buffer.popleft().size()
            self._removed += count
            self._changed.notify_all()

    def _write_spool(self):
        while True:
            group = self._take()
            if group is None:
                return
            while True:
                try:
                    if not self._spool.write(group):
                        return
                    self._recovered("writing", "The spool is written again")
                    break
                except Exception as failure:  # The records still exist, and no other thread writes them: go on after any fault.
                    self._failed("writing", f"The spool cannot be written: {failure}")
                    if self._stop.wait(1):
                        return
            for entry in group:
                entry.future.set_result(None)
            self._remove(len(group))

    def _send_all(self):
        while not self._stop.is_set():
            try:
                batch = self._spool.next() if self._spool else self._take()
                if batch is None or not self._deliver(batch):
                    return
                if self._spool:
                    self._spool.settled()
                else:
                    self._remove(len(batch))
            except Exception as failure:  # The records still exist, and no other thread sends them: go on after any fault.
                self._failed("sending", f"The records cannot be read or settled: {failure}")
                self._stop.wait(self._longest_pause)

    def _deliver(self, batch):
        parts = [batch]
        while parts:
            part = parts.pop()
            kind, detail = self._attempt(part)
            if kind == "stored":
                with self._changed:
                    self._counts["stored"] += len(part)
                    self._counts["batches"] += 1
                for entry in part:
                    if not entry.future.done():
                        entry.future.set_result(None)
            elif kind == "refused":
                left = [self._unless_refused(entry, detail.get(index)) for index, entry in enumerate(part)]
                left = [entry for entry in left if entry]
                if left:
                    parts.append(left)
            elif kind == "split" and len(part) > 1:
                parts += [part[len(part) // 2:], part[:len(part) // 2]]
            elif kind == "split":
                self._refuse(part[0], detail)
            elif self._stop.is_set():
                return False
            else:
                for entry in part:
                    self._refuse(entry, f"Given up: {detail[0]}")
        return True

    def _unless_refused(self, entry, reason):
        """The record to send, or None if it is refused.

        The service decides which actions look like its own. A table in the client could differ from the service's.
        """
        entry_to_send = entry.renamed() if reason and _OF_ACTION.search(reason) else None if reason else entry
        if entry_to_send is None:
            self._refuse(entry, reason)
        return entry_to_send

    def _attempt(self, batch):
        start, pause = time.monotonic(), self._first_pause
        while True:
            kind, detail = self._endpoint.send(batch)
            if kind != "later":
                self._recovered("sending", "Records are delivered again")
                return kind, detail
            if self._stop.is_set():
                return kind, detail
            self._failed("sending", detail[0])
            if self._give_up_after is not None and time.monotonic() - start >= self._give_up_after:
                return kind, detail
            # Clients that failed at the same time must not retry at the same time.
            jittered = pause * random.uniform(0.5, 1)
            self._stop.wait(min(max(jittered, detail[1] or 0), self._longest_pause))
            pause = min(pause * 2, self._longest_pause)
            with self._changed:
                self._counts["retries"] += 1

    def _failed(self, what, reason):
        if what not in self._failing:
            self._failing.add(what)
            _LOG.warning("Records wait, as they cannot be delivered now. %s", reason)
        self._last_failure = reason

    def _recovered(self, what, message):
        if what in self._failing:
            self._failing.discard(what)
            _LOG.warning(message)
            if not self._failing:
                self._last_failure = ""

    def _refuse(self, entry, reason):
        refusal = RecordRefused(entry.id, reason, entry.data)
        handled = False
        if self._on_refusal:
            try:
                self._on_refusal(refusal)
                handled = True
            except Exception:
                _LOG.exception("The handler of refusals has failed")
        if not handled:
            if self._spool:
                self._spool.keep_refused(refusal)
            _LOG.error("Record %s is not stored. %s", entry.id, reason)
        with self._changed:
            self._counts["refused"] += 1
        if not entry.future.done():
            entry.future.set_exception(refusal)


_FIELDS = {"id", "timestamp", "action", "actor", "subject", "outcome", "ip_address", "message", "metadata", "number"}


class AuditHandler(logging.Handler):
    """Turns log records with an `audit` dict into audit records:

        logging.getLogger().addHandler(annals.AuditHandler(log))
        logger.info("Volume was created", extra={"audit": {"action": "volume_create", "actor": {"id": "u-19283"}}})

    The line is the message, unless the audit dict has one. A log call must not raise, so a record that is not taken is an error
    in the log "annals". At the end of the process, logging waits up to flush_timeout seconds for records that are not sent. The
    application closes the audit log.
    """

    def __init__(self, log: AuditLog, level: int | str = logging.NOTSET, *, flush_timeout: float = 10) -> None:
        super().__init__(level)
        self._audit_log = log
        self._flush_timeout = flush_timeout

    def emit(self, record: logging.LogRecord) -> None:
        if not hasattr(record, "audit"):
            return
        try:
            fields: dict[str, typing.Any] = {
                "action": "log", "timestamp": datetime.datetime.fromtimestamp(record.created, datetime.timezone.utc)}
            try:
                fields["message"] = record.getMessage()
            except Exception:  # The arguments do not fit the format.
                fields["message"] = _text(record.msg)
            given = record.audit if isinstance(record.audit, dict) else {"metadata": record.audit}
            others = {key: value for key, value in given.items() if key not in _FIELDS}
            fields.update((key, value) for key, value in given.items() if key in _FIELDS)
            if others:
                own = fields.get("metadata")
                fields["metadata"] = {**(own if isinstance(own, dict) else {} if own is None else {"metadata": own}), **others}
            self._audit_log.append(**fields)
        except Exception as failure:  # The log call must not fail, and the application has to learn of the fault.
            _LOG.error("The record of a line of %s was not taken: %s: %s", record.name, type(failure).__name__, failure)

    def flush(self) -> None:
        """Waits until the records are sent. Records not sent by then stay in the spool or in the audit log's buffer."""
        if not self._audit_log._closed and not self._audit_log.flush(self._flush_timeout):
            _LOG.error("Records of log lines are not sent yet: %s", self._audit_log.metrics())
