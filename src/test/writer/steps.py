"""Does what each line of its input says, and prints what comes of it.

Its arguments are a spool or "-", the size of the buffer, and "handler" or "file".
"""

import os
import sys

import annals


def say(text):
    os.write(1, text.encode() + b"\n")


def append(action):
    try:
        receipt = log.append(action)
    except annals.BufferFull:
        say(f"full {action}")
        return
    say(f"taken {action} {receipt.id}")
    receipt.future.add_done_callback(
        lambda future: say(("refused " if future.exception() else "acknowledged ") + action))


log = annals.AuditLog(
    os.environ["ANNALS_URL"], os.environ["ANNALS_TOKEN"], spool=None if sys.argv[1] == "-" else sys.argv[1],
    buffer_records=int(sys.argv[2]), append_timeout=0, first_pause=0.001, longest_pause=0.02,
    on_refusal=(lambda refusal: say(f"handed back {refusal.record.decode()}")) if sys.argv[3] == "handler" else None)
for line in sys.stdin:
    step, argument = line.split()
    if step == "append":
        append(argument)
    elif step == "flush":
        say(f"flushed {log.flush(int(argument) / 1000)}".lower())
    elif step == "end":
        # As one that is killed once it is back.
        os._exit(0 if log.close(int(argument) / 1000) else 3)
    else:
        say(f"closed {log.close(int(argument) / 1000)}".lower())
