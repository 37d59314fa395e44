package dev.annals.derived.log;

/**
 * What is stored is not what was taken into the tree, or signed: somebody has changed records or hashes behind the service's
 * back. The message says where. Its log is halted.
 */
final class DamagedLog extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final String finding;

    DamagedLog(String finding) {
        super(finding);
        this.finding = finding;
    }

    /** What was found, as part of a sentence. */
    String finding() {
        return finding;
    }
}
