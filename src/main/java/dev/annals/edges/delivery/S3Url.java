package dev.annals.edges.delivery;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A place in a bucket: {@code s3+https://host/bucket/prefix}, with {@code ?region=} where that is not {@code us-east-1}.
 *
 * @param endpoint the URL without {@code s3+}; the scheme is https or http
 * @param prefix of keys; empty, or with a slash at its end
 */
public record S3Url(URI endpoint, String bucket, String prefix, String region) {

    static final String FORM =
            "It must be s3+https://host/bucket/prefix, optionally with ?region=; the prefix has letters, digits, dots, hyphens,"
                    + " underscores and equals signs. s3+http is for this machine's loopback alone.";

    private static final String SCHEME = "s3+";
    private static final Pattern PATH =
            Pattern.compile("/([0-9a-z][0-9a-z.-]{1,61}[0-9a-z])((?:/[0-9A-Za-z_-][0-9A-Za-z._=-]{0,254}){0,15})/?");
    private static final Pattern REGION = Pattern.compile("region=([0-9a-z-]{1,64})");
    private static final String DEFAULT_REGION = "us-east-1";

    /**
     * Parses a URL.
     *
     * @throws IllegalArgumentException if it has another form
     */
    public static S3Url parse(String text) {
        URI uri;
        try {
            uri = new URI(text.startsWith(SCHEME) ? text.substring(SCHEME.length()) : "");
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException(FORM, e);
        }
        String query = uri.getRawQuery();
        Matcher path = PATH.matcher(uri.getRawPath() == null ? "" : uri.getRawPath());
        Matcher region = REGION.matcher(query == null ? "region=" + DEFAULT_REGION : query);
        if (!HttpExchange.isHttp(uri)
                || uri.getRawUserInfo() != null
                || uri.getRawFragment() != null
                || uri.getPort() == 0
                || uri.getPort() > 65_535
                || !path.matches()
                || !region.matches()) {
            throw new IllegalArgumentException(FORM);
        }
        String prefix = path.group(2).isEmpty() ? "" : path.group(2).substring(1) + "/";
        return new S3Url(uri, path.group(1), prefix, region.group(1));
    }
}
