package dev.annals.kernel.connection;

import dev.annals.kernel.config.AnnalsConfig;
import dev.annals.kernel.http.IpAddress;
import io.netty.handler.ipfilter.IpFilterRuleType;
import io.netty.handler.ipfilter.IpSubnetFilterRule;
import io.netty.util.NetUtil;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.SocketAddress;
import jakarta.enterprise.context.ApplicationScoped;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The proxies of {@code ANNALS_TRUSTED_PROXIES}, and their headers. The framework's parser trusts the first address of
 * {@code X-Forwarded-For}, which a client can write, and fails on an empty one.
 */
@ApplicationScoped
public class TrustedProxies {

    private static final String FORWARDED_FOR = "X-Forwarded-For";
    /** An IPv6 address may have brackets and a zone, and with brackets a port. */
    private static final Pattern ELEMENT = Pattern.compile(
            "(?<v4>[0-9.]+)(:[0-9]{1,5})?|(?<v6>[0-9A-Fa-f:.]+)(%[^\\]]*)?|\\[(?<bracketed>[0-9A-Fa-f:.]+)(%[^\\]]*)?](:[0-9]{1,5})?");

    private static final String UNKNOWN = "0.0.0.0";

    private final List<IpSubnetFilterRule> rules;

    TrustedProxies(AnnalsConfig config) {
        this.rules = config.trustedProxies().stream().map(TrustedProxies::rule).toList();
    }

    private static IpSubnetFilterRule rule(String proxy) {
        int slash = proxy.indexOf('/');
        String text = slash < 0 ? proxy : proxy.substring(0, slash);
        InetAddress address = IpAddress.address(text);
        int bits = address == null
                ? -1
                : slash < 0 ? address.getAddress().length * 8 : IpAddress.prefixBits(text, proxy.substring(slash + 1));
        if (address == null || bits < 0) {
            throw new IllegalArgumentException("annals.trusted-proxies (ANNALS_TRUSTED_PROXIES in the environment): \""
                    + proxy + "\" is neither an IP address nor a network");
        }
        return new IpSubnetFilterRule(address, bits, IpFilterRuleType.ACCEPT);
    }

    boolean include(InetAddress address) {
        InetSocketAddress from = new InetSocketAddress(address, 0);
        return rules.stream().anyMatch(rule -> rule.matches(from));
    }

    /**
     * The client's address without a zone: behind a trusted proxy, the last address in {@code X-Forwarded-For} of no trusted
     * proxy. An element that is no address ends the search at the proxy that added it. {@code 0.0.0.0} if the connection has no
     * IP address.
     */
    public String client(HttpServerRequest request) {
        InetAddress client = connected(request);
        if (client == null) {
            return UNKNOWN;
        }
        List<String> lines = request.headers().getAll(FORWARDED_FOR);
        for (int i = lines.size() - 1; i >= 0; i--) {
            String line = lines.get(i);
            for (int end = line.length(), comma; end >= 0; end = comma) {
                comma = line.lastIndexOf(',', end - 1);
                InetAddress before = include(client) ? address(line.substring(comma + 1, end)) : null;
                if (before == null) {
                    return NetUtil.toAddressString(client);
                }
                client = before;
            }
        }
        return NetUtil.toAddressString(client);
    }

    /** Null if the connection is not a trusted proxy's, or if the header does not occur exactly once in this form. */
    public @Nullable String header(HttpServerRequest request, String name, Pattern form) {
        List<String> lines = request.headers().getAll(name);
        if (lines.size() != 1 || !form.matcher(lines.get(0)).matches()) {
            return null;
        }
        InetAddress from = connected(request);
        return from != null && include(from) ? lines.get(0) : null;
    }

    private static @Nullable InetAddress connected(HttpServerRequest request) {
        @Nullable SocketAddress address = request.connection().remoteAddress();
        return address == null || address.hostAddress() == null ? null : address(address.hostAddress());
    }

    private static @Nullable InetAddress address(String element) {
        Matcher matcher = ELEMENT.matcher(element.strip());
        if (!matcher.matches()) {
            return null;
        }
        String v4 = matcher.group("v4");
        String v6 = matcher.group("v6");
        return IpAddress.address(v4 != null ? v4 : v6 != null ? v6 : matcher.group("bracketed"));
    }
}
