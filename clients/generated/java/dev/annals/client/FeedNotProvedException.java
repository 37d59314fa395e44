package dev.annals.client;

/**
 * What the service sends is not what its log has signed, or the log does not go on as it was: records were changed, removed,
 * inserted or moved. Nothing of it was saved. Keep the store with its checkpoint, and ask whoever runs the service.
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
