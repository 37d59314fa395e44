package dev.annals.http;

import java.util.Locale;

/**
 * Every kind of problem the service answers with. The name is part of the API: {@code RECORD_ID_TAKEN} goes out as the
 * type {@code urn:annals:problem:record-id-taken}.
 */
public enum ProblemType {
    /** The body is no JSON; the detail names line and column. */
    MALFORMED_JSON(400, "Malformed JSON"),
    /** The body cannot be unpacked. */
    MALFORMED_ENCODING(400, "Malformed encoding"),
    /** A query or path parameter cannot be read or is out of its range. */
    INVALID_PARAMETER(400, "Invalid parameter"),
    /** The cursor was not issued by this feed. */
    INVALID_CURSOR(400, "Invalid cursor"),
    /** No token, or one that is not known. */
    UNAUTHORIZED(401, "Unauthorized"),
    /** The token does not allow this. */
    FORBIDDEN(403, "Forbidden"),
    /** Nothing is there, or not for this token. */
    NOT_FOUND(404, "Not found"),
    /** The address is right, the method is not. */
    METHOD_NOT_ALLOWED(405, "Method not allowed"),
    /** None of the media types the client accepts can be had. */
    NOT_ACCEPTABLE(406, "Not acceptable"),
    /** The body came more slowly than it may. */
    BODY_TOO_SLOW(408, "Body too slow"),
    /** The record a cursor points at is gone from the feed: the database was restored or lost its tail. */
    FEED_REWOUND(409, "Feed rewound"),
    /** A record with this id and other content is stored already. */
    RECORD_ID_TAKEN(409, "Record id taken"),
    /** A project with this name is there already. */
    PROJECT_NAME_TAKEN(409, "Project name taken"),
    /** A sequence of this name is there already, and is defined otherwise. */
    SEQUENCE_EXISTS(409, "Sequence exists"),
    /** Fewer values are left than were asked for; a sequence never begins again. */
    SEQUENCE_EXHAUSTED(409, "Sequence exhausted"),
    /** The project has as many sequences as it may. */
    TOO_MANY_SEQUENCES(409, "Too many sequences"),
    /** The sequence was deleted. Its name stays taken, since its values were issued. */
    SEQUENCE_DELETED(410, "Sequence deleted"),
    /** The body has more bytes than the service takes. */
    BODY_TOO_LARGE(413, "Body too large"),
    /** The body's media type, or its encoding, is none the service reads here. */
    UNSUPPORTED_MEDIA_TYPE(415, "Unsupported media type"),
    /** The JSON is well-formed, but a record breaks a rule; {@code errors} names each wrong field. */
    INVALID_RECORD(422, "Invalid record"),
    /** One request holds more records than it may. */
    TOO_MANY_RECORDS(422, "Too many records"),
    /** As {@link #INVALID_RECORD}, for a body that is not a record. */
    INVALID_BODY(422, "Invalid body"),
    /** The answer would be longer, or more work, than the service gives. */
    RESULT_TOO_LARGE(422, "Result too large"),
    /** Too many requests without a valid token came from this address. */
    TOO_MANY_FAILURES(429, "Too many failures"),
    /** A fault of the service; {@code instance} is in its log too. */
    INTERNAL_ERROR(500, "Internal error"),
    /** More appends wait for this project than the service holds. */
    QUEUE_FULL(503, "Queue full"),
    /** More clients wait for records, or listen to streams, than the service serves. */
    TOO_MANY_READERS(503, "Too many readers"),
    /** The memory for requests and answers is taken, by all callers or by this one. */
    OVERLOADED(503, "Overloaded"),
    /** The service is starting, stopping, or has lost its database. */
    UNAVAILABLE(503, "Unavailable"),
    /** An HTTP status that says all there is to say; goes out as {@code about:blank}. */
    OTHER(400, "Request failed");

    private final int status;
    private final String title;
    private final String uri;

    ProblemType(int status, String title) {
        this.status = status;
        this.title = title;
        this.uri = name().equals("OTHER")
                ? "about:blank"
                : "urn:annals:problem:" + name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** The HTTP status. */
    public int status() {
        return status;
    }

    /** The same few words for every problem of this type. */
    public String title() {
        return title;
    }

    /** The problem's {@code type} member. */
    public String uri() {
        return uri;
    }
}
