package dev.annals.kernel.http;

import java.util.Locale;

/**
 * The kinds of problems that the service answers with. The name is part of the API: {@code RECORD_ID_TAKEN} is sent as the type
 * {@code urn:annals:problem:record-id-taken}.
 */
public enum ProblemType {
    /** The body is not JSON; the detail gives line and column. */
    MALFORMED_JSON(400, "Malformed JSON"),
    /** The body cannot be unpacked. */
    MALFORMED_ENCODING(400, "Malformed encoding"),
    /** A query or path parameter cannot be read or is out of its range. */
    INVALID_PARAMETER(400, "Invalid parameter"),
    /** The cursor was not issued by this feed. */
    INVALID_CURSOR(400, "Invalid cursor"),
    /** The caller may use several projects, and named none. */
    PROJECT_NEEDED(403, "Project needed"),
    /** There is no token, or an unknown one. */
    UNAUTHORIZED(401, "Unauthorized"),
    /** The token does not allow this. */
    FORBIDDEN(403, "Forbidden"),
    /** Nothing exists here, or the token may not see it. */
    NOT_FOUND(404, "Not found"),
    /** The log does not have that many records yet: it follows the feed within moments. */
    LOG_BEHIND(404, "Log behind"),
    /** The address exists and has other methods. */
    METHOD_NOT_ALLOWED(405, "Method not allowed"),
    /** The service offers none of the media types that the client accepts. */
    NOT_ACCEPTABLE(406, "Not acceptable"),
    /** The body arrived too slowly. */
    BODY_TOO_SLOW(408, "Body too slow"),
    /** The record to which a cursor points is gone from the feed: the database was restored or lost its newest records. */
    FEED_REWOUND(409, "Feed rewound"),
    /** Stored records do not match the signed log: they were changed, or the database was set back. */
    LOG_FORKED(409, "Log forked"),
    /** A record with this id and other content is already stored. */
    RECORD_ID_TAKEN(409, "Record id taken"),
    /** A project with this name exists already. */
    PROJECT_NAME_TAKEN(409, "Project name taken"),
    /** The project is closed: it accepts no more records. */
    PROJECT_CLOSED(409, "Project closed"),
    /** The token has ended, was replaced before, or is that of a link. */
    TOKEN_ENDED(409, "Token ended"),
    /** The record is under a legal hold. */
    LEGAL_HOLD(409, "Legal hold"),
    /** The archive does not follow the recorded ones. */
    ARCHIVE_NOT_NEXT(409, "Archive not next"),
    /** A sequence with this name exists already, with another definition. */
    SEQUENCE_EXISTS(409, "Sequence exists"),
    /** Fewer values are left than were asked for; a sequence never starts again. */
    SEQUENCE_EXHAUSTED(409, "Sequence exhausted"),
    /** The project has as many sequences as it may have. */
    TOO_MANY_SEQUENCES(409, "Too many sequences"),
    /** The project has as many streams as it may have. */
    TOO_MANY_STREAMS(409, "Too many streams"),
    /** The project has as many alerts as it may have. */
    TOO_MANY_ALERTS(409, "Too many alerts"),
    /** The service has no key to encrypt the secrets of sinks. */
    NO_STREAMS_KEY(409, "No streams key"),
    /** The sequence was deleted. Its name stays taken, since its values were issued. */
    SEQUENCE_DELETED(410, "Sequence deleted"),
    /** Records behind the cursor have expired by the project's retention. */
    RECORDS_EXPIRED(410, "Records expired"),
    /** The body has more bytes than the service accepts. */
    BODY_TOO_LARGE(413, "Body too large"),
    /** The body's media type or encoding is not accepted by this operation. */
    UNSUPPORTED_MEDIA_TYPE(415, "Unsupported media type"),
    /** The JSON is well-formed, but a record breaks a rule; {@code errors} names each wrong field. */
    INVALID_RECORD(422, "Invalid record"),
    /** No line of an import is stored; {@code refusals} names the first ones with their errors. */
    ALL_LINES_REFUSED(422, "All lines refused"),
    /** One request contains more records than it may. */
    TOO_MANY_RECORDS(422, "Too many records"),
    /** As {@link #INVALID_RECORD}, for a body that is not a record. */
    INVALID_BODY(422, "Invalid body"),
    /** The answer would be longer, or take more work, than the service allows. */
    RESULT_TOO_LARGE(422, "Result too large"),
    /** Too many requests without a valid token came from this address. */
    TOO_MANY_FAILURES(429, "Too many failures"),
    /** The project, or the token, has used up one of its limits; {@code limit} says which. */
    LIMIT_EXCEEDED(429, "Limit exceeded"),
    /** A fault of the service; {@code instance} is also in its log. */
    INTERNAL_ERROR(500, "Internal error"),
    /** More appends are waiting for this project than the service can hold. */
    QUEUE_FULL(503, "Queue full"),
    /** More clients are waiting for records, or listening to streams, than the service allows. */
    TOO_MANY_READERS(503, "Too many readers"),
    /** The memory for requests and answers is used up, or this caller's share of it is. */
    OVERLOADED(503, "Overloaded"),
    /** The log of this project is not signed: there is no key, or an operator has to look at it first. */
    LOG_HALTED(503, "Log halted"),
    /** The service is starting, stopping, or has lost its database. */
    UNAVAILABLE(503, "Unavailable"),
    /** An HTTP status that says everything by itself; sent as {@code about:blank}. */
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
