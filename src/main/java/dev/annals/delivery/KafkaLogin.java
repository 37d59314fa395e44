package dev.annals.delivery;

import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.Map;
import javax.security.auth.Subject;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginContext;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.auth.Login;
import org.apache.kafka.common.security.scram.internals.ScramSaslClientProvider;
import org.jspecify.annotations.Nullable;

/**
 * A name and a password for Kafka's client, which makes this by its name. The client's own login does the same by way of the
 * platform's modules for logins, which a native executable lacks.
 */
@RegisterForReflection
public final class KafkaLogin implements Login {

    /** The options of its configuration. */
    static final String NAME = "username";

    static final String PASSWORD = "password";

    private final Subject subject = new Subject();

    @Override
    public void configure(
            Map<String, ?> settings, String context, Configuration configuration, AuthenticateCallbackHandler handler) {
        Map<String, ?> options = configuration.getAppConfigurationEntry(context)[0].getOptions();
        subject.getPublicCredentials().add(options.get(NAME));
        subject.getPrivateCredentials().add(options.get(PASSWORD));
        ScramSaslClientProvider.initialize();
    }

    /** None: the client does not use it. */
    @Override
    public @Nullable LoginContext login() {
        return null;
    }

    @Override
    public Subject subject() {
        return subject;
    }

    @Override
    public String serviceName() {
        return "kafka";
    }

    @Override
    public void close() {}
}
