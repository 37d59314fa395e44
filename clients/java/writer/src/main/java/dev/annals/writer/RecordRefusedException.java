package dev.annals.writer;

/** A receipt fails with this if its record will not be stored. */
public final class RecordRefusedException extends Exception {

    private static final long serialVersionUID = 1;

    private final transient Refusal refusal;

    RecordRefusedException(Refusal refusal) {
        super("Record " + refusal.id() + ": " + refusal.reason());
        this.refusal = refusal;
    }

    public Refusal refusal() {
        return refusal;
    }
}
