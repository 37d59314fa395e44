import sys, uuid

def for_sql_server(sequential):
    moved = bytearray(16)
    for place, byte in zip((10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0), sequential.bytes):
        moved[place] = byte
    return uuid.UUID(bytes=bytes(moved))

for text in sys.argv[1:]:
    print(for_sql_server(uuid.UUID(text)))
