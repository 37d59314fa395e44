package dev.annals.derived.log;

/** A stored record or hash does not match the tree, or the tree does not match what was signed: it was changed outside the service. */
final class DamagedLog extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final String finding;

    DamagedLog(String finding) {
        super(finding);
        this.finding = finding;
    }

    /** A part of a sentence. */
    String finding() {
        return finding;
    }
}
