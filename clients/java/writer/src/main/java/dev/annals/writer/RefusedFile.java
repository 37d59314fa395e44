package dev.annals.writer;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.function.Consumer;

/** Keeps refused records beside the spool, one per line, with the reason. */
final class RefusedFile implements Consumer<Refusal> {

    private static final String NAME = "refused.ndjson";

    private final Path folder;

    RefusedFile(Path folder) {
        this.folder = folder;
    }

    @Override
    public void accept(Refusal refusal) {
        String reason = Json.string(refusal.reason(), Integer.MAX_VALUE);
        String line = "{\"reason\":" + reason + ",\"record\":" + refusal.json() + "}\n";
        try (FileChannel file = SpoolFolder.openFile(folder, NAME)) {
            ByteBuffer bytes = UTF_8.encode(line);
            long at = file.size();
            while (bytes.hasRemaining()) {
                at += file.write(bytes, at);
            }
            file.force(true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Problems.log("Record " + refusal.id() + " is not stored, but kept in " + folder.resolve(NAME) + ". "
                + refusal.reason());
    }
}
