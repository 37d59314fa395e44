package dev.annals.writer;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.annals.writer.Buffer.Batching;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;

/**
 * Keeps records on disk, in the order of writing, until the service has stored them. One thread writes, one reads. docs/clients.md has the
 * format, which the clients in other languages share.
 *
 * <p>A process never writes into a file that another process began. If a file is shorter than the noted place, because a loss of power took
 * its end, no later record can fill that gap and be skipped. Records are acknowledged, and files deleted, only while the folder is
 * this process's own: another one took it first and then looked for files, so it has found all that was acknowledged.
 */
final class Spool implements Source {

    static final byte[] MAGIC = "ANNALS1\n".getBytes(US_ASCII);
    static final int FRAME_HEADER = 12;
    static final String PLACE = "acknowledged";

    /** A file that cannot be read so often in a row is left to the next start, as others wait behind it. */
    private static final int MOST_FAILURES = 3;

    private static final Pattern SEGMENT = Pattern.compile("(\\d{20})\\.spool");
    private static final Pattern OTHER_VERSION = Pattern.compile("ANNALS[02-9]\n");
    private static final Pattern NOTED = Pattern.compile("(\\d{20}) (\\d{20}) ([0-9a-f]{8})\n");

    private final SpoolOptions options;
    private final Batching batching;
    private final SpoolFolder folder;
    private final FileChannel place;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Up to where each file can be read, by its number. */
    private final TreeMap<Long, Long> ends = new TreeMap<>();
    /** 0 if no file is written. */
    private long active;
    /** A file that is written and cannot be read, or 0. */
    private long unreadable;

    private long notedSegment;
    private long notedOffset = MAGIC.length;
    private long readSegment;
    private long readOffset;
    private boolean closed;
    private boolean stopped;

    // Only the thread that writes uses these.
    private FileChannel out;
    private long outEnd;
    private long lastSegment;

    // Only the thread that reads uses these.
    private FileChannel in;
    private long inSegment;
    private long givenEnd;
    private int failures;
    /** A damaged file that is not kept under another name yet, or 0. */
    private long toKeep;
    /** The damaged file that was reported last. */
    private long reported;

    Spool(SpoolOptions options, Batching batching) throws IOException {
        options.check();
        this.options = options;
        this.batching = batching;
        this.folder = SpoolFolder.open(options.folder);
        try {
            this.place = folder.openFile(PLACE);
            for (Path file : folder.files()) {
                Matcher name = SEGMENT.matcher(file.getFileName().toString());
                if (name.matches()) {
                    ends.put(Long.parseLong(name.group(1)), endOf(file));
                }
            }
            startBehindWhatIsAcknowledged();
        } catch (IOException | RuntimeException e) {
            folder.close();
            throw e;
        }
    }

    /** Returns 0 if the file's process ended before it wrote the header. */
    private long endOf(Path file) throws IOException {
        try (FileChannel channel = folder.readFile(file.getFileName().toString())) {
            ByteBuffer magic = ByteBuffer.allocate(MAGIC.length);
            readFully(channel, magic, 0);
            if (channel.size() < MAGIC.length) {
                return 0;
            }
            if (OTHER_VERSION.matcher(new String(magic.array(), US_ASCII)).matches()) {
                throw new IOException(file + " is not a spool's file of this version");
            }
            return channel.size();
        }
    }

    private void startBehindWhatIsAcknowledged() throws IOException {
        ByteBuffer noted = ByteBuffer.allocate(51);
        readFully(place, noted, 0);
        Matcher text = NOTED.matcher(new String(noted.array(), 0, noted.position(), US_ASCII));
        if (text.matches() && text.group(3).equals(checksum(text.group(1) + " " + text.group(2)))) {
            notedSegment = Long.parseLong(text.group(1));
            notedOffset = Math.max(MAGIC.length, Long.parseLong(text.group(2)));
        }
        lastSegment = Math.max(notedSegment, ends.isEmpty() ? 0 : ends.lastKey());
        goTo(ends.isEmpty() ? lastSegment + 1 : ends.firstKey());
    }

    private void goTo(long segment) {
        readSegment = segment;
        readOffset = segment == notedSegment ? notedOffset : MAGIC.length;
    }

    /**
     * All records are on disk when this returns, if {@link SpoolOptions#force} is set. Waits while the spool is full.
     *
     * @return false if the spool is full and was stopped
     * @throws IOException if writing failed; the records have to be written again, and may then be sent twice
     */
    boolean write(List<Entry> entries) throws IOException {
        int size = 0;
        for (Entry entry : entries) {
            size += FRAME_HEADER + entry.json.length;
        }
        ByteBuffer frames = ByteBuffer.allocate(size);
        entries.forEach(entry -> frame(frames, entry.json));
        frames.flip();
        if (!awaitRoom(size)) {
            return false;
        }
        folder.requireOwned();
        try {
            if (out == null || hasToEnd(size)) {
                begin();
            }
            writeFully(out, frames, outEnd);
            if (options.force) {
                out.force(false);
            }
            folder.requireOwned();
        } catch (IOException e) {
            abandon();
            throw e;
        }
        outEnd += size;
        lock.lock();
        try {
            ends.put(active, outEnd);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        return true;
    }

    private boolean hasToEnd(int size) throws IOException {
        lock.lock();
        try {
            if (outEnd + size <= options.segmentBytes && unreadable != active) {
                return false;
            }
        } finally {
            lock.unlock();
        }
        closeOut();
        return true;
    }

    /** The record's length, the checksum of length and record, the checksum of these eight bytes, four bytes each, and the record. */
    static void frame(ByteBuffer out, byte[] record) {
        int start = out.position();
        out.putInt(record.length).putInt(checksum(out, start, 4, record));
        out.putInt(checksum(out, start, 8, new byte[0])).put(record);
    }

    private static int checksum(ByteBuffer frame, int start, int length, byte[] record) {
        CRC32 checksum = new CRC32();
        checksum.update(frame.array(), start, length);
        checksum.update(record);
        return (int) checksum.getValue();
    }

    private static String checksum(String text) {
        CRC32 checksum = new CRC32();
        checksum.update(text.getBytes(US_ASCII));
        return String.format(Locale.ROOT, "%08x", checksum.getValue());
    }

    private boolean awaitRoom(int size) {
        lock.lock();
        try {
            while (!stopped && bytesOnDisk() + size > options.maxBytes) {
                changed.awaitUninterruptibly();
            }
            return bytesOnDisk() + size <= options.maxBytes;
        } finally {
            lock.unlock();
        }
    }

    private void begin() throws IOException {
        closeOut();
        FileChannel begun = null;
        while (begun == null) {
            lastSegment++;
            try {
                begun = folder.createFile(name(lastSegment));
            } catch (FileAlreadyExistsException e) {
                // A process that lost the folder while it began a file made this one. The next start reads it.
            } catch (IOException e) {
                lastSegment--;
                throw e;
            }
        }
        out = begun;
        outEnd = 0;
        writeFully(begun, ByteBuffer.wrap(MAGIC), 0);
        begun.force(true);
        folder.force();
        outEnd = MAGIC.length;
        lock.lock();
        try {
            active = lastSegment;
            ends.put(active, outEnd);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** A disk that has failed once may have lost data of this file. Further records go into another file. */
    private void abandon() {
        if (out == null) {
            return;
        }
        try {
            if (outEnd > MAGIC.length) {
                out.truncate(outEnd);
                closeOut();
            } else {
                // A disk that is full for hours must not fill with empty files.
                closeOut();
                lock.lock();
                try {
                    ends.remove(lastSegment);
                    Files.deleteIfExists(folder.path(name(lastSegment)));
                } finally {
                    lock.unlock();
                }
            }
        } catch (IOException e) {
            Problems.log("A file of the spool in " + options.folder + " could not be cut: " + e);
        } finally {
            out = null;
        }
    }

    private void closeOut() throws IOException {
        lock.lock();
        try {
            active = 0;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (out != null) {
            out.close();
            out = null;
        }
    }

    @Override
    public List<Entry> next() throws IOException {
        while (true) {
            long segment;
            long end;
            lock.lock();
            try {
                while (!stopped && !closed && isAtTheEnd()) {
                    changed.awaitUninterruptibly();
                }
                if (stopped || isAtTheEnd()) {
                    return null;
                }
                segment = readSegment;
                end = ends.getOrDefault(segment, 0L);
            } finally {
                lock.unlock();
            }
            folder.requireOwned();
            List<Entry> batch = readOffset < end ? readOrLeave(segment, end) : List.of();
            if (!batch.isEmpty()) {
                return batch;
            }
            lock.lock();
            try {
                if (readSegment == segment && segment != active && readOffset >= ends.getOrDefault(segment, 0L)) {
                    nextSegment();
                }
            } finally {
                lock.unlock();
            }
        }
    }

    private boolean isAtTheEnd() {
        if (readSegment == active || ends.isEmpty()) {
            return unreadable == active || readOffset >= ends.getOrDefault(readSegment, 0L);
        }
        // A complete file that has been read is deleted before.
        return false;
    }

    private List<Entry> readOrLeave(long segment, long end) throws IOException {
        try {
            List<Entry> batch = read(segment, end);
            failures = 0;
            return batch;
        } catch (NoSuchFileException e) {
            leave(segment, "was removed before all its records were stored");
        } catch (IOException e) {
            closeIn();
            if (++failures < MOST_FAILURES) {
                throw e;
            }
            leave(segment, "stays for the next start, as it cannot be read: " + e);
        }
        return List.of();
    }

    private void leave(long segment, String reason) {
        failures = 0;
        Problems.log("The spool's file " + folder.path(name(segment)) + " " + reason);
        lock.lock();
        try {
            if (segment == active) {
                unreadable = segment;
            } else {
                ends.remove(segment);
                goBehind(segment);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Empty if there is no whole record at the place, which is then behind the damage. */
    private List<Entry> read(long segment, long end) throws IOException {
        if (in == null || inSegment != segment) {
            closeIn();
            in = folder.readFile(name(segment));
            inSegment = segment;
        }
        int most = batching.bytes + FRAME_HEADER + Entry.MAX_BYTES;
        ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(most, end - readOffset));
        readFully(in, bytes, readOffset);
        bytes.flip();
        List<Entry> batch = new ArrayList<>();
        long size = 0;
        givenEnd = readOffset;
        while (batch.size() < batching.records && size < batching.bytes) {
            Entry entry = frameAt(bytes, (int) (givenEnd - readOffset));
            if (entry == null) {
                break;
            }
            batch.add(entry);
            size += entry.json.length + 1;
            givenEnd += FRAME_HEADER + entry.json.length;
        }
        if (batch.isEmpty()) {
            long behind = behindDamage(segment, bytes, end);
            lock.lock();
            try {
                readOffset = behind;
            } finally {
                lock.unlock();
            }
        }
        return batch;
    }

    /** The record of the frame that begins there; null if none does, or if it is not whole. */
    private static Entry frameAt(ByteBuffer bytes, int at) {
        int length = lengthAt(bytes, at);
        if (length < 0 || length > bytes.limit() - at - FRAME_HEADER) {
            return null;
        }
        byte[] record = new byte[length];
        System.arraycopy(bytes.array(), at + FRAME_HEADER, record, 0, length);
        return bytes.getInt(at + 4) == checksum(bytes, at, 4, record) ? Entry.spooled(record) : null;
    }

    /** The length of the record, which the header's own checksum confirms, or -1. */
    private static int lengthAt(ByteBuffer bytes, int at) {
        if (bytes.limit() - at < FRAME_HEADER || bytes.getInt(at + 8) != checksum(bytes, at, 8, new byte[0])) {
            return -1;
        }
        int length = bytes.getInt(at);
        return length > 0 && length <= Entry.MAX_BYTES ? length : -1;
    }

    /**
     * The offset to read on from. If the last frame is shorter than its header says, or its header is cut off, its process ended while it wrote, and
     * the record was never acknowledged. Anything else is damage: the file is kept, and the records behind are sent.
     */
    private long behindDamage(long segment, ByteBuffer bytes, long end) {
        int left = bytes.limit();
        if (left < FRAME_HEADER || lengthAt(bytes, 0) > left - FRAME_HEADER) {
            return end;
        }
        keep(segment);
        for (int at = 1; at <= left - FRAME_HEADER; at++) {
            if (Entry.isSpooled(bytes.array(), at + FRAME_HEADER) && frameAt(bytes, at) != null) {
                return readOffset + at;
            }
        }
        // A frame may begin in these bytes and end behind them.
        return readOffset + left >= end ? end : readOffset + left - FRAME_HEADER - Entry.MAX_BYTES;
    }

    /** A second name needs no room on a disk that may be full. Without hard links, the file is renamed in place of being deleted. */
    private void keep(long segment) {
        if (reported == segment) {
            return;
        }
        Path file = folder.path(name(segment));
        Path damaged = damaged(file);
        try {
            if (!Files.exists(damaged)) {
                Files.createLink(damaged, file);
            }
        } catch (IOException | UnsupportedOperationException e) {
            toKeep = segment;
        }
        reported = segment;
        Problems.log("The spool's file " + file + " is damaged at byte " + readOffset + ": it is kept as " + damaged
                + ", and its records before and behind the damage are sent");
    }

    /** The name for a damaged file: that of another one is never taken. */
    private static Path damaged(Path file) {
        Path damaged = file.resolveSibling(file.getFileName() + ".damaged");
        try {
            for (int i = 2; Files.exists(damaged) && !Files.isSameFile(damaged, file); i++) {
                damaged = file.resolveSibling(file.getFileName() + ".damaged-" + i);
            }
        } catch (IOException e) {
            Problems.log("A damaged file's name is used again: " + e);
        }
        return damaged;
    }

    @Override
    public void settled() throws IOException {
        folder.requireOwned();
        lock.lock();
        try {
            readOffset = givenEnd;
            note();
            if (readSegment != active && readOffset >= ends.getOrDefault(readSegment, 0L)) {
                nextSegment();
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void nextSegment() {
        lock.lock();
        try {
            long done = readSegment;
            goBehind(done);
            delete(done);
            note();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void goBehind(long segment) {
        Long next = ends.higherKey(segment);
        // A file that begins later has a higher number.
        goTo(next == null ? segment + 1 : next);
    }

    /** Not forced to disk: if the place is lost, records are sent again, and the service recognizes their ids. */
    private void note() {
        String text = String.format(Locale.ROOT, "%020d %020d", readSegment, readOffset);
        try {
            writeFully(place, US_ASCII.encode(text + " " + checksum(text) + "\n"), 0);
        } catch (IOException e) {
            Problems.log("The place in the spool " + options.folder + " was not noted: " + e);
        }
    }

    private void delete(long segment) {
        ends.remove(segment);
        try {
            if (inSegment == segment) {
                closeIn();
            }
            Path file = folder.path(name(segment));
            if (toKeep == segment) {
                Files.move(file, damaged(file));
            } else {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            Problems.log("The spool's file " + folder.path(name(segment)) + ", whose records are stored, stays: " + e);
        }
    }

    private void closeIn() throws IOException {
        inSegment = 0;
        if (in != null) {
            in.close();
            in = null;
        }
    }

    /** Waits until all records written before this call are settled. Returns false if the limit ends first. */
    boolean awaitSettled(Duration limit) throws InterruptedException {
        lock.lock();
        try {
            Map.Entry<Long, Long> last = ends.lastEntry();
            long left = limit.toNanos();
            while (last != null && !isBehind(last) && left > 0 && !stopped) {
                left = changed.awaitNanos(left);
            }
            return last == null || isBehind(last);
        } finally {
            lock.unlock();
        }
    }

    private boolean isBehind(Map.Entry<Long, Long> target) {
        return readSegment > target.getKey()
                || (readSegment == target.getKey()
                        && readOffset >= Math.min(target.getValue(), ends.getOrDefault(readSegment, 0L)));
    }

    /** Records in the spool can still be read. */
    void closeToWriting() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Ends reading and writing, and wakes the threads that wait. */
    void stop() {
        lock.lock();
        try {
            stopped = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Releases the folder, after the threads have ended. */
    void close() throws IOException {
        long written = active;
        closeOut();
        boolean isStored = readSegment == written && readOffset >= ends.getOrDefault(written, 0L);
        if (written != 0 && isStored && folder.isOwned()) {
            nextSegment();
        }
        letGo();
    }

    /** Releases the files, as the end of the process does. */
    void letGo() throws IOException {
        closeOut();
        closeIn();
        place.close();
        folder.close();
    }

    long bytes() {
        lock.lock();
        try {
            return bytesOnDisk();
        } finally {
            lock.unlock();
        }
    }

    private long bytesOnDisk() {
        long bytes = 0;
        for (long end : ends.values()) {
            bytes += end;
        }
        return bytes;
    }

    private static String name(long segment) {
        return String.format(Locale.ROOT, "%020d.spool", segment);
    }

    static void writeFully(FileChannel out, ByteBuffer bytes, long offset) throws IOException {
        long at = offset;
        while (bytes.hasRemaining()) {
            at += out.write(bytes, at);
        }
    }

    private static void readFully(FileChannel in, ByteBuffer bytes, long offset) throws IOException {
        while (bytes.hasRemaining()) {
            int read = in.read(bytes, offset + bytes.position());
            if (read < 0) {
                break;
            }
        }
    }
}
