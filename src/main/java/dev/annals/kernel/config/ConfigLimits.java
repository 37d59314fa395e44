package dev.annals.kernel.config;

import io.quarkus.runtime.configuration.DurationConverter;
import io.smallrye.config.ConfigValidationException;
import io.smallrye.config.ConfigValidationException.Problem;
import io.smallrye.config.ConfigValidator;
import io.smallrye.config.SmallRyeConfigBuilder;
import io.smallrye.config.SmallRyeConfigBuilderCustomizer;
import io.smallrye.config.common.utils.StringUtil;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Checks every setting against the limits on its method in a {@code @ConfigMapping}. A bean validator would take a third of the
 * start-up time.
 */
public final class ConfigLimits implements ConfigValidator, SmallRyeConfigBuilderCustomizer {

    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface Min {
        long value();
    }

    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface Max {
        long value();
    }

    /** The limits of a duration, both included; written like settings: {@code 10ms}, {@code 1s}, {@code 5M}. */
    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface Durations {
        String min();

        String max();
    }

    /** The regular expression that a text, or each text of a list, has to match as a whole. */
    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface Texts {
        String value();
    }

    @Override
    public void configBuilder(SmallRyeConfigBuilder builder) {
        builder.withValidator(this);
    }

    /** @throws ConfigValidationException naming every setting out of its limits */
    @Override
    public void validateMapping(Class<?> mappingClass, String prefix, Object mapping) {
        if (!mappingClass.getName().startsWith("dev.annals.")) {
            return; // a setting of the framework
        }
        List<Problem> problems = new ArrayList<>();
        check(mappingClass, prefix, mapping, problems);
        if (!problems.isEmpty()) {
            throw new ConfigValidationException(problems.toArray(Problem[]::new));
        }
    }

    private static void check(Class<?> mappingClass, String prefix, Object mapping, List<Problem> problems) {
        for (Method method : mappingClass.getMethods()) {
            String name = prefix + "." + StringUtil.skewer(method.getName());
            Object value = value(method, mapping);
            // A group of settings is declared where it is used.
            if (method.getReturnType().getEnclosingClass() == mappingClass) {
                check(method.getReturnType(), name, value, problems);
            } else {
                String wrong = wrong(method, value);
                if (wrong != null) {
                    problems.add(
                            new Problem(name + " (" + SettingsCheck.variable(name) + " in the environment) " + wrong));
                }
            }
        }
    }

    private static Object value(Method method, Object mapping) {
        try {
            return method.invoke(mapping);
        } catch (IllegalAccessException | InvocationTargetException e) {
            throw new IllegalStateException("the setting " + method + " cannot be read", e);
        }
    }

    private static @Nullable String wrong(Method method, Object value) {
        Min min = method.getAnnotation(Min.class);
        Max max = method.getAnnotation(Max.class);
        if (min != null && max != null) {
            long number = ((Number) value).longValue();
            return number >= min.value() && number <= max.value()
                    ? null
                    : "is " + number + ": it must be from " + min.value() + " to " + max.value();
        }
        Durations durations = method.getAnnotation(Durations.class);
        if (durations != null) {
            Duration duration = (Duration) value;
            return duration.compareTo(DurationConverter.parseDuration(durations.min())) >= 0
                            && duration.compareTo(DurationConverter.parseDuration(durations.max())) <= 0
                    ? null
                    : "is " + duration + ": it must be from " + durations.min() + " to " + durations.max();
        }
        Texts texts = method.getAnnotation(Texts.class);
        // Some texts are secrets, so they are not shown.
        return texts == null
                        || texts(value).stream()
                                .allMatch(Pattern.compile(texts.value()).asMatchPredicate())
                ? null
                : "must match " + texts.value();
    }

    private static List<String> texts(Object value) {
        if (value instanceof Optional<?> optional) {
            return optional.stream().flatMap(one -> texts(one).stream()).toList();
        }
        return value instanceof Collection<?> many
                ? many.stream().map(String::valueOf).toList()
                : List.of(String.valueOf(value));
    }
}
