package dev.annals.writer;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.annals.writer.Buffer.Batching;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
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
 * its end, no later record can fill that gap and be skipped.
 */
final class Spool implements Source {

    static final byte[] MAGIC = "ANNALS1\n".getBytes(US_ASCII);
    static final int FRAME_HEADER = 8;
    static final String PLACE = "acknowledged";

    private static final Pattern SEGMENT = Pattern.compile("(\\d{20})\\.spool");
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
    /** A file that cannot be read on as long as it is written, or 0. */
    private long unreadable;

    private long readSegment;
    private long readOffset = MAGIC.length;
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
            if (Arrays.equals(magic.array(), MAGIC)) {
                return channel.size();
            }
            if (channel.size() > MAGIC.length) {
                throw new IOException(file + " is not a spool's file of this version");
            }
            return 0;
        }
    }

    private void startBehindWhatIsAcknowledged() throws IOException {
        ByteBuffer noted = ByteBuffer.allocate(51);
        readFully(place, noted, 0);
        Matcher text = NOTED.matcher(new String(noted.array(), 0, noted.position(), US_ASCII));
        long notedSegment = 0;
        if (text.matches() && text.group(3).equals(checksum(text.group(1) + " " + text.group(2)))) {
            notedSegment = Long.parseLong(text.group(1));
            readOffset = Math.max(MAGIC.length, Long.parseLong(text.group(2)));
        }
        lastSegment = Math.max(notedSegment, ends.isEmpty() ? 0 : ends.lastKey());
        for (long acknowledged : new ArrayList<>(ends.headMap(notedSegment).keySet())) {
            delete(acknowledged);
        }
        readSegment = ends.isEmpty() ? lastSegment + 1 : ends.firstKey();
        if (readSegment != notedSegment) {
            readOffset = MAGIC.length;
        }
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
        try {
            if (out == null || hasToEnd(size)) {
                begin();
            }
            writeFully(out, frames, outEnd);
            if (options.force) {
                out.force(false);
            }
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

    /** The format of a file: the record's length, the checksum of length and record, four bytes each, the record. */
    static void frame(ByteBuffer out, byte[] record) {
        int start = out.position();
        out.putInt(record.length).putInt(0).put(record).putInt(start + 4, checksum(record));
    }

    private static int checksum(byte[] record) {
        CRC32 checksum = new CRC32();
        checksum.update(ByteBuffer.allocate(4).putInt(0, record.length));
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
        FileChannel begun = folder.createFile(name(lastSegment + 1));
        lastSegment++;
        out = begun;
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
        try {
            if (out != null && active == lastSegment) {
                out.truncate(outEnd);
            }
            closeOut();
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
            boolean complete;
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
                complete = segment != active;
            } finally {
                lock.unlock();
            }
            List<Entry> batch = readOffset < end ? read(segment, end, complete) : List.of();
            if (!batch.isEmpty()) {
                return batch;
            }
            lock.lock();
            try {
                if (complete) {
                    nextSegment();
                } else {
                    unreadable = segment;
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

    private List<Entry> read(long segment, long end, boolean complete) throws IOException {
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
        while (bytes.hasRemaining() && batch.size() < batching.records && size < batching.bytes) {
            int left = bytes.remaining();
            Entry entry = left < FRAME_HEADER ? null : next(bytes);
            if (entry == null) {
                if (batch.isEmpty() && complete) {
                    setAside(segment, bytes, left);
                }
                break;
            }
            batch.add(entry);
            size += entry.json.length + 1;
            givenEnd += FRAME_HEADER + entry.json.length;
        }
        return batch;
    }

    /** Null, with the position unchanged, if the frame is not whole. */
    private static Entry next(ByteBuffer bytes) {
        int start = bytes.position();
        int length = bytes.getInt();
        int checksum = bytes.getInt();
        if (length > 0 && length <= Entry.MAX_BYTES && length <= bytes.remaining()) {
            byte[] record = new byte[length];
            bytes.get(record);
            Entry entry = checksum == checksum(record) ? Entry.spooled(record) : null;
            if (entry != null) {
                return entry;
            }
        }
        bytes.position(start);
        return null;
    }

    /**
     * The rest of the file has no whole record. If the last frame is shorter than its length says, its process ended while it
     * wrote, and the record was never acknowledged. Anything else is damage: a copy of the file is kept.
     */
    private void setAside(long segment, ByteBuffer bytes, int left) throws IOException {
        int length = left < FRAME_HEADER ? Entry.MAX_BYTES : bytes.getInt(bytes.position());
        boolean torn = length > 0 && length <= Entry.MAX_BYTES && length > left - FRAME_HEADER;
        if (!torn) {
            Path damaged = folder.path(name(segment) + ".damaged");
            Files.copy(
                    folder.path(name(segment)),
                    damaged,
                    StandardCopyOption.REPLACE_EXISTING,
                    StandardCopyOption.COPY_ATTRIBUTES);
            Problems.log("The spool's file " + damaged + " is damaged from byte " + readOffset
                    + " on; the records before that are sent, what follows is kept there");
        }
        lock.lock();
        try {
            ends.put(segment, readOffset);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void settled() {
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
            Long next = ends.higherKey(readSegment);
            long done = readSegment;
            // A file that begins later has a higher number.
            readSegment = next == null ? done + 1 : next;
            readOffset = MAGIC.length;
            note();
            delete(done);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
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
            Files.deleteIfExists(folder.path(name(segment)));
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
        if (written != 0 && readSegment == written && readOffset >= ends.getOrDefault(written, 0L)) {
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

    private static void writeFully(FileChannel out, ByteBuffer bytes, long offset) throws IOException {
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
