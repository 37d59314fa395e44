package dev.annals.kernel.config;

import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import io.smallrye.config.common.utils.StringUtil;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.eclipse.microprofile.config.Config;

/** The settings that differ from their defaults, in a form to show, and to compare with another start. */
public final class ChangedSettings {

    private static final int MAX_LENGTH = 1_000;
    /** Enough to notice another secret, and far too little to guess it. */
    private static final int FINGERPRINT_BYTES = 2;

    /** Names databases, of which each has settings of its own. */
    private static final String DATABASES = "annals.databases";

    private ChangedSettings() {}

    /**
     * A setting.
     *
     * @param text the value without credentials of URLs; for a secret, a fingerprint
     */
    public record Value(String text, boolean secret) {}

    /** By the names of their variables. */
    public static SortedMap<String, Value> of(Collection<Class<?>> mappings, Config config) {
        SortedMap<String, Value> changed = new TreeMap<>();
        for (Class<?> mapping : mappings) {
            add(mapping, mapping.getAnnotation(ConfigMapping.class).prefix(), config, changed);
        }
        config.getOptionalValues(DATABASES, String.class)
                .ifPresent(
                        names -> names.forEach(name -> addDatabase(DATABASES + "." + name.strip(), config, changed)));
        return changed;
    }

    private static void addDatabase(String prefix, Config config, SortedMap<String, Value> changed) {
        for (String part : List.of(".url", ".password-file", ".read-url", ".pinned")) {
            String name = prefix + part;
            config.getOptionalValue(name, String.class)
                    .ifPresent(value ->
                            changed.put(SettingsCheck.variable(name), shown(name, value, part.endsWith("url"))));
        }
    }

    private static void add(Class<?> mapping, String prefix, Config config, SortedMap<String, Value> changed) {
        for (Method method : mapping.getMethods()) {
            String name = prefix + "." + StringUtil.skewer(method.getName());
            if (method.getReturnType().getEnclosingClass() == mapping) {
                add(method.getReturnType(), name, config, changed);
                continue;
            }
            WithDefault preset = method.getAnnotation(WithDefault.class);
            config.getOptionalValue(name, String.class)
                    .filter(value -> preset == null || !value.equals(preset.value()))
                    .ifPresent(value -> changed.put(
                            SettingsCheck.variable(name),
                            shown(name, value, method.isAnnotationPresent(Secret.class))));
        }
    }

    private static Value shown(String name, String value, boolean secret) {
        if (secret) {
            return new Value(fingerprint(name, value), true);
        }
        String shown = value.replaceAll("://[^/@\\s]*@", "://…@");
        return new Value(
                shown.length() <= MAX_LENGTH ? shown : shown.substring(0, MAX_LENGTH) + "… " + fingerprint(name, value),
                false);
    }

    private static String fingerprint(String name, String value) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256")
                    .digest(("annals setting\n" + name + "\n" + value).getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash, 0, FINGERPRINT_BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
