package dev.annals.kernel.http;

import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Unpacks gzip (RFC 1952) as it arrives: call {@link #feed} with a part, then {@link #next} until it returns 0. Holds at most
 * one part and its output buffer. Several members in a row form one body. The caller closes it, because the inflater's memory
 * is outside the heap.
 */
final class Gunzip implements AutoCloseable {

    /** Unpacked at any ratio. */
    static final long FREE_BYTES = 1 << 20;

    private static final int HEADER_CRC = 2;
    private static final int EXTRA = 4;
    private static final int NAME = 8;
    private static final int COMMENT = 16;
    private static final int RESERVED = 0xE0;

    private enum State {
        FIXED_HEADER,
        EXTRA_LENGTH,
        EXTRA_FIELD,
        FILE_NAME,
        FILE_COMMENT,
        HEADER_CHECK,
        DATA,
        TRAILER
    }

    private final Inflater inflater = new Inflater(true);
    private final CRC32 crc = new CRC32();
    private final int maxRatio;
    private State state = State.FIXED_HEADER;
    /** The bytes of the current state that were read, and their value. */
    private int read;

    private int flags;
    private int extraLength;
    private long trailer;
    private boolean anyMember;
    private byte[] part = {};
    private int at;
    private long packed;
    private long unpacked;

    /** @param maxRatio unpacked to compressed bytes, beyond {@link #FREE_BYTES} */
    Gunzip(int maxRatio) {
        this.maxRatio = maxRatio;
    }

    void feed(byte[] bytes) {
        part = bytes;
        at = 0;
        packed += bytes.length;
    }

    /**
     * Returns the number of bytes written to {@code out}; 0 if the parts so far have no more.
     *
     * @throws ProblemException {@code malformed-encoding}, or {@code body-too-large} if the ratio is exceeded
     */
    int next(byte[] out) {
        while (true) {
            if (state == State.DATA) {
                int length = inflate(out);
                if (length > 0) {
                    return length;
                }
                if (!inflater.finished()) {
                    return 0;
                }
                at -= inflater.getRemaining();
                become(State.TRAILER);
            }
            if (at == part.length) {
                return 0;
            }
            header(part[at++] & 0xFF);
        }
    }

    private int inflate(byte[] out) {
        try {
            if (inflater.needsInput() && at < part.length) {
                inflater.setInput(part, at, part.length - at);
                at = part.length;
            }
            int length = inflater.inflate(out);
            if (length == 0 && inflater.needsDictionary()) {
                throw malformed();
            }
            crc.update(out, 0, length);
            unpacked += length;
            if (unpacked > FREE_BYTES && unpacked / maxRatio > packed) {
                throw new ProblemException(
                        ProblemType.BODY_TOO_LARGE,
                        "The body unpacks to more than " + maxRatio
                                + " times its size. Send it in several requests, or without Content-Encoding.");
            }
            return length;
        } catch (DataFormatException e) {
            throw malformed();
        }
    }

    private void header(int next) {
        switch (state) {
            case FIXED_HEADER -> fixedHeader(next);
            case EXTRA_LENGTH -> {
                extraLength |= next << (8 * read++);
                if (read == 2) {
                    become(extraLength > 0 ? State.EXTRA_FIELD : afterExtra());
                }
            }
            case EXTRA_FIELD -> {
                if (++read == extraLength) {
                    become(afterExtra());
                }
            }
            case FILE_NAME -> {
                if (next == 0) {
                    become(afterName());
                }
            }
            case FILE_COMMENT -> {
                if (next == 0) {
                    become(afterComment());
                }
            }
            case HEADER_CHECK -> {
                if (++read == 2) {
                    become(State.DATA);
                }
            }
            case TRAILER -> trailer(next);
            case DATA -> throw new IllegalStateException("the inflater reads the data");
        }
    }

    private void fixedHeader(int next) {
        boolean wrong = switch (read++) {
            case 0 -> next != 0x1F;
            case 1 -> next != 0x8B;
            case 2 -> next != 8;
            case 3 -> {
                flags = next;
                yield (flags & RESERVED) != 0;
            }
            default -> false;
        };
        if (wrong) {
            throw malformed();
        }
        if (read == 10) {
            anyMember = true;
            extraLength = 0;
            become((flags & EXTRA) != 0 ? State.EXTRA_LENGTH : afterExtra());
        }
    }

    private void trailer(int next) {
        trailer |= (long) next << (8 * read++);
        if (read == 8) {
            if (trailer != (crc.getValue() | (inflater.getBytesWritten() << 32))) {
                throw malformed();
            }
            inflater.reset();
            crc.reset();
            become(State.FIXED_HEADER);
        }
    }

    private void become(State next) {
        state = next;
        read = 0;
        trailer = 0;
    }

    private State afterExtra() {
        return (flags & NAME) != 0 ? State.FILE_NAME : afterName();
    }

    private State afterName() {
        return (flags & COMMENT) != 0 ? State.FILE_COMMENT : afterComment();
    }

    private State afterComment() {
        return (flags & HEADER_CRC) != 0 ? State.HEADER_CHECK : State.DATA;
    }

    /** @throws ProblemException {@code malformed-encoding} if the body ends before the last member does */
    void end() {
        if (!anyMember || state != State.FIXED_HEADER || read != 0) {
            throw malformed();
        }
    }

    private static ProblemException malformed() {
        return new ProblemException(
                ProblemType.MALFORMED_ENCODING,
                "The body is not complete gzip, or something follows it: compress it again, or send it without"
                        + " Content-Encoding.");
    }

    @Override
    public void close() {
        inflater.end();
    }
}
