package dev.annals.writer;

/** Warnings of the client in the application's log. They never contain a token or a record. */
final class Problems {

    private static final System.Logger LOG = System.getLogger("dev.annals.writer");

    private Problems() {}

    static void log(String message) {
        LOG.log(System.Logger.Level.WARNING, message);
    }
}
