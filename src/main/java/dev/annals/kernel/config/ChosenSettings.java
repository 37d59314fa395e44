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
import java.util.SortedMap;
import java.util.TreeMap;
import org.eclipse.microprofile.config.Config;

/** The settings that differ from their defaults, in a form that can be shown, and compared with another start. */
public final class ChosenSettings {

    private static final int MAX_LENGTH = 1_000;
    /** Enough to notice another secret, and far too little to guess it. */
    private static final int FINGERPRINT_BYTES = 2;

    private ChosenSettings() {}

    /**
     * A setting.
     *
     * @param text its value without credentials of URLs; for a secret, a fingerprint
     */
    public record Chosen(String text, boolean secret) {}

    /** The settings of these interfaces, by the names of their variables. */
    public static SortedMap<String, Chosen> of(Collection<Class<?>> mappings, Config config) {
        SortedMap<String, Chosen> chosen = new TreeMap<>();
        for (Class<?> mapping : mappings) {
            add(mapping, mapping.getAnnotation(ConfigMapping.class).prefix(), config, chosen);
        }
        return chosen;
    }

    private static void add(Class<?> mapping, String prefix, Config config, SortedMap<String, Chosen> chosen) {
        for (Method method : mapping.getMethods()) {
            String name = prefix + "." + StringUtil.skewer(method.getName());
            if (method.getReturnType().getEnclosingClass() == mapping) {
                add(method.getReturnType(), name, config, chosen);
                continue;
            }
            WithDefault preset = method.getAnnotation(WithDefault.class);
            config.getOptionalValue(name, String.class)
                    .filter(value -> preset == null || !value.equals(preset.value()))
                    .ifPresent(value -> chosen.put(
                            SettingsCheck.variable(name),
                            chosen(name, value, method.isAnnotationPresent(Secret.class))));
        }
    }

    private static Chosen chosen(String name, String value, boolean secret) {
        if (secret) {
            return new Chosen(fingerprint(name, value), true);
        }
        String shown = value.replaceAll("://[^/@\\s]*@", "://…@");
        return new Chosen(
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
