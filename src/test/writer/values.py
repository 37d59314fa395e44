"""Appends a record for each case of values.json to the spool that is its first argument: the fields that it gives, or a value."""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import io
import ipaddress
import json
import os
import pathlib
import sys
import time
import types
import uuid

import annals

os.environ["TZ"] = "UTC"
time.tzset()


class Text(str, enum.Enum):
    RED = "red"


class Plain(enum.Enum):
    ONE = 1
    NESTED = Text.RED


class Number(enum.IntEnum):
    TWO = 2


class Bits(enum.Flag):
    A = 1
    B = 2


class Own(int):
    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__


class OwnText(str):
    def __str__(self):
        return "another"


class Raising:
    def __str__(self):
        raise ValueError("no text")


class Hiding:
    @property
    def __class__(self):
        raise ValueError("no class")


class Halfway(dict):
    def items(self):
        yield "a", 1
        raise LookupError("no more")


@dataclasses.dataclass
class Point:
    x: int
    y: object = None


Pair = collections.namedtuple("Pair", "x y")


def chained():
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer") from inner
    except ValueError as outer:
        return outer


def endless():
    while True:
        yield 1


class Endless(collections.abc.Sequence):
    def __getitem__(self, index):
        return "e"

    def __len__(self):
        return sys.maxsize


def zone(hours):
    return datetime.timezone(datetime.timedelta(hours=hours))


cycle = {}
cycle["a"] = cycle
ring = []
ring.append({"ring": ring})
shared = [1]
VALUES = {
    "text enum": Text.RED, "enum": Plain.ONE, "enum in an enum": Plain.NESTED, "int enum": Number.TWO, "flag": Bits.A | Bits.B,
    "decimal": decimal.Decimal("1.10"), "decimal NaN": decimal.Decimal("NaN"), "decimal sNaN": decimal.Decimal("sNaN"),
    "decimal beyond": decimal.Decimal("1E+400"), "fraction": fractions.Fraction(1, 3), "complex": 1 + 2j,
    "naive": datetime.datetime(2025, 1, 1, 1), "aware": datetime.datetime(2025, 1, 1, 1, tzinfo=zone(1)),
    "microseconds": datetime.datetime(2025, 1, 1, 0, 0, 0, 120), "year 900": datetime.datetime(900, 1, 1, tzinfo=zone(0)),
    "before year 1": datetime.datetime(1, 1, 1, tzinfo=zone(14)), "date": datetime.date(900, 1, 1),
    "time": datetime.time(1, 2, 3), "duration": datetime.timedelta(seconds=1), "uuid": uuid.UUID(int=1),
    "bytes": b"ab", "bytearray": bytearray(b"ab"), "memory": memoryview(b"abcd")[::2], "set": {1}, "frozenset": frozenset("a"),
    "dataclass": Point(1), "dataclass itself": dataclasses.make_dataclass("P", ["x"])(Point(1, [2])), "named tuple": Pair(1, None),
    "tuple": (1, 2), "path": pathlib.PurePosixPath("/a/b"), "raises": Raising(), "hides": Hiding(), "halfway": Halfway(a=1, b=2),
    "int subclass": Own(5), "bool": True, "text subclass": OwnText("own"), "big": 10 ** 30, "401 digits": 10 ** 400,
    "6000 digits": -10 ** 6000, "NaN": float("nan"), "infinity": float("-inf"), "negative zero": -0.0, "least": 5e-324,
    "keys": {1: 1, "1": 2, None: 3, True: 4, 1.5: 5, (1, 2): 6, b"ab": 7, Text.RED: 8}, "key raises": {Raising(): 1},
    "surrogate": "\ud800x", "keys with NUL": {"a\0": 1, "a\ufffd": 2}, "cyclic": cycle, "ring": ring, "shared": [shared, shared],
    "deque": collections.deque([1]), "range": range(3), "dict keys": {"a": 1}.keys(), "dict values": {"a": 1}.values(),
    "dict items": {"a": 1}.items(), "counter": collections.Counter("aa"), "proxy": types.MappingProxyType({"a": 1}),
    "user text": collections.UserString("ab"), "user list": collections.UserList([1]), "user dict": collections.UserDict(a=1),
    "generator": endless(), "map": map(str, [1]), "stream": io.StringIO("ab"), "function": endless, "lambda": lambda: 1,
    "method": [].append, "partial": functools.partial(max, 1), "class": int, "exception": ValueError("no"),
    "exception without text": ValueError(), "chained": chained(), "address": ipaddress.ip_address("192.0.2.1"),
    "endless": Endless(), "5000 fields": {f"k{i}": i for i in range(5_000)}, "none": None, "ellipsis": ...,
}


def appended(log, case):
    if "value" in case:
        log.append("value", metadata={"value": VALUES.pop(case["value"])})
        return
    given = {"action": "fields", **case["given"]}
    log.append(**{name: value * case["repeat"] if name == "message" and "repeat" in case else value for name, value in given.items()})


with open("src/test/writer/values.json", encoding="utf-8") as file:
    cases = json.load(file)
with annals.AuditLog(os.environ["ANNALS_URL"], os.environ["ANNALS_TOKEN"], spool=sys.argv[1]) as log:
    for case in cases["fields"] + cases["times"] + cases["python"]:
        appended(log, case)
if VALUES:
    raise LookupError(f"values.json has no case of {VALUES}")
