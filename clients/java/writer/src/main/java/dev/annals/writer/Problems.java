package dev.annals.writer;

/** What the client has to say for itself, in the log of the application. It never contains a token or a record. */
final class Problems {

    private static final System.Logger LOG = System.getLogger("dev.annals.writer");

    private Problems() {}

    static void log(String message) {
        LOG.log(System.Logger.Level.WARNING, message);
    }
}
