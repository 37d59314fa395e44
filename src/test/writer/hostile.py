"""Appends as many records of hostile values as its second argument says, to the spool that is its first."""

import datetime
import decimal
import enum
import os
import random
import sys

import annals

draw = random.Random(1)


class Color(str, enum.Enum):
    RED = "red\0"


class Raising:
    def __str__(self):
        raise ValueError("no text")


def endless():
    while True:
        yield 1


cycle = {}
cycle.update(a=cycle, b=cycle, c=[cycle])
shared, deep = [], []
for _ in range(30):
    shared = [shared, shared]
for _ in range(10_000):
    deep = [deep]
TEXTS = ["", "\0", "\ud800x", "x" * 100_000, "\1" * 70_000, "é😀" * 40_000, "fe80::1%eth0", "203.0.113.9:52341",
         "[2001:db8::1]:443", "unknown", "1:2:3:4:5:6:7::8", "0900-01-01T00:00:00Z", "2025-02-30T00:00:00Z", "annals.x"]
VALUES = [cycle, shared, deep, endless(), Color.RED, Raising(), 10 ** 401, -10 ** 6000, 1e308, 5e-324, float("nan"), float("inf"),
          decimal.Decimal("1e400"), decimal.Decimal("NaN"), decimal.Decimal("1.7976931348623158e308"), [1e300] * 4000,
          {f"k{i}": i for i in range(5000)}, {"a\0": 1, "a\ufffd": 2, 1: 3, "1": 4, (1, 2): 5, None: 6, "k" * 99_999: 7},
          b"\0" * 100_000, {1, "a"}, range(10 ** 12), ValueError("\0"), datetime.datetime(1, 1, 1), datetime.datetime.max, *TEXTS]


def party():
    return draw.choice([None, {}, "\0", {key: draw.choice(VALUES) for key in ("type", "id", "name", "other")}])


with annals.AuditLog(os.environ["ANNALS_URL"], os.environ["ANNALS_TOKEN"], spool=sys.argv[1]) as log:
    for _ in range(int(sys.argv[2])):
        log.append(
            draw.choice(VALUES), actor=party(), subject=party(), outcome=draw.choice(VALUES), ip_address=draw.choice(VALUES),
            message=draw.choice(TEXTS), timestamp=draw.choice([None, *VALUES]), number=draw.choice([None, {"sequence": "a b"}, 1]),
            metadata=draw.choice([{f"m{i}": draw.choice(VALUES) for i in range(draw.randrange(4))}, *VALUES]))
print("done")
