package dev.annals.client;

/**
 * The service sent records that its log has not signed, or the log does not continue the one seen before: records were changed,
 * removed, inserted or moved. Nothing was saved. Keep the store with its checkpoint, and ask the operator of the service.
 */
public final class FeedNotProvedException extends Exception {
    private static final long serialVersionUID = 1;

    FeedNotProvedException(String message) {
        super(message);
    }

    FeedNotProvedException(String message, Throwable cause) {
        super(message, cause);
    }
}
