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

/** The settings that are not at their defaults, in a form in which those of two starts can be compared and shown. */
public final class ChosenSettings {

    private static final int MAX_LENGTH = 1_000;
    /** Enough to notice that a secret is another one, and far too little to find out which. */
    private static final int FINGERPRINT_BYTES = 2;

    private ChosenSettings() {}

    /**
     * A setting.
     *
     * @param text its value, without credentials of URLs; of a secret a fingerprint that tells nothing about it
     */
    public record Chosen(String text, boolean secret) {}

    /** Those that the interfaces declare, by the names of their variables. */
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
