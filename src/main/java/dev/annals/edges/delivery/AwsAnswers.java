package dev.annals.edges.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import dev.annals.edges.delivery.HttpExchange.Answer;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Answers of AWS and of stores with S3's interface. The status alone does not tell whether a request may be repeated: the code in the
 * body does, as in AWS's SDKs.
 */
public final class AwsAnswers {

    /**
     * Codes of the SDKs' standard retry mode and, below, those that the models of STS and S3 call temporary. AWS sends most of them with
     * 400, some with 403 or 409.
     */
    private static final Set<String> TEMPORARY = Set.of(
            "BandwidthLimitExceeded",
            "EC2ThrottledException",
            "LimitExceededException",
            "PriorRequestNotComplete",
            "ProvisionedThroughputExceededException",
            "RequestLimitExceeded",
            "RequestThrottled",
            "RequestThrottledException",
            "RequestTimeout",
            "RequestTimeoutException",
            "SlowDown",
            "ThrottledException",
            "Throttling",
            "ThrottlingException",
            "TooManyRequestsException",
            "TransactionInProgressException",
            // of STS
            "IDPCommunicationError",
            "InternalFailure",
            "ServiceUnavailable",
            "ServiceUnavailableException",
            // of S3
            "ConditionalRequestConflict",
            "InternalError",
            "OperationAborted");

    /** Codes of keys or tokens that have ended. Others can be had, perhaps a little later. */
    private static final Set<String> EXPIRED =
            Set.of("ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired");

    /** Codes of keys that other ones may replace. */
    private static final Set<String> UNUSABLE = Set.of("InvalidToken", "InvalidAccessKeyId");

    private static final Pattern ERROR = Pattern.compile("\\s*(?:<\\?[^>]{0,128}>\\s*)?<Error(?:Response)?[\\s>]");
    private static final Pattern CODE = Pattern.compile("<Code>([0-9A-Za-z.]{1,64})</Code>");
    private static final Pattern NAME = Pattern.compile("(?:.*#)?([0-9A-Za-z.]{1,64})(?::.*)?");
    private static final int ERROR_BEGINS_WITHIN = 4_096;

    private AwsAnswers() {}

    /**
     * The answer, or 500 in its place if its status is 200 and its body an error: S3 sends the status before a long operation ends.
     */
    static Answer withError(Answer answer) {
        return answer.status() == 200 && ERROR.matcher(beginning(answer)).lookingAt()
                ? new Answer(500, answer.headers(), answer.body())
                : answer;
    }

    private static String beginning(Answer answer) {
        return answer.body()
                .getString(0, Math.min(ERROR_BEGINS_WITHIN, answer.body().length()), "ISO-8859-1");
    }

    /** The code of a refusal, in XML or JSON; null if it has none. */
    static @Nullable String code(Answer answer) {
        if (answer.status() / 100 == 2) {
            return null;
        }
        Matcher xml = CODE.matcher(answer.body().toString(StandardCharsets.UTF_8));
        if (xml.find()) {
            return xml.group(1);
        }
        JsonNode json = answer.json();
        for (String field : new String[] {"Code", "code", "__type"}) {
            Matcher name = NAME.matcher(json.path(field).asText(""));
            if (name.matches()) {
                return name.group(1);
            }
        }
        return null;
    }

    /** Whether the same request may succeed later. */
    public static boolean isTemporary(Answer answer) {
        String code = code(answer);
        return answer.isTemporary() || (code != null && (TEMPORARY.contains(code) || EXPIRED.contains(code)));
    }

    /** Whether the same request may succeed with other keys. A refused HEAD has no code. */
    static boolean asksForOtherKeys(Answer answer) {
        String code = code(answer);
        return code == null
                ? answer.status() == 400 && answer.body().length() == 0
                : EXPIRED.contains(code) || UNUSABLE.contains(code);
    }

    /** The reason why an answer is not the expected one, for people: the status, and the code. */
    public static String why(Answer answer) {
        String code = code(answer);
        return answer.text() + (code == null ? "" : " It says " + code + ".");
    }
}
