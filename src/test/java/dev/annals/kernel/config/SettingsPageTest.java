package dev.annals.kernel.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.doctree.DocCommentTree;
import com.sun.source.doctree.DocTree;
import com.sun.source.doctree.LinkTree;
import com.sun.source.doctree.LiteralTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import dev.annals.BesideTheService;
import dev.annals.WrittenPart;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import io.smallrye.config.common.utils.StringUtil;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The tables of {@code docs/settings.md} contain the Javadoc of the settings up to its first {@code <p>}, their defaults and
 * limits. {@code -Dsettings.write=true} writes them.
 */
@BesideTheService
class SettingsPageTest {

    private static final Path PAGE = Path.of("docs", "settings.md");
    /** Readers skip a longer page. */
    private static final int MAX_WORDS = 2_500;

    /** The tables, with the settings in each by the beginnings of their names. */
    private static final Map<String, List<String>> SUBJECTS = subjects();

    private static final Pattern METHOD = Pattern.compile("\\{(\\w+)}");
    private static final Pattern SETTING = Pattern.compile("`(annals(?:\\.[a-z-]+)+)`");

    /** An interface that declares settings, or a group of them inside it. */
    private record Group(List<Setting> settings) {}

    private record Setting(String name, Method method, String description) {}

    @Test
    void thePageShowsEverySettingWithItsDefaultAndItsLimits() throws IOException {
        WrittenPart.check(PAGE, SettingsPageTest.class, "settings.write", tables());
    }

    @Test
    void thePageIsShortEnoughToBeRead() throws IOException {
        assertThat(Files.readString(PAGE).split("\\s+")).hasSizeLessThanOrEqualTo(MAX_WORDS);
    }

    private static String tables() throws IOException {
        Map<Class<?>, Map<String, String>> comments = comments();
        Map<String, Group> groups = new LinkedHashMap<>();
        Settings.all()
                .forEach(type ->
                        add(type, type.getAnnotation(ConfigMapping.class).prefix(), comments, groups));
        StringBuilder tables = new StringBuilder();
        SUBJECTS.forEach((subject, prefixes) -> {
            tables.append("\n## ").append(subject).append("\n\n");
            tables.append("| setting | default | range | |\n|---|---|---|---|\n");
            for (String prefix : prefixes) {
                Group group = groups.remove(prefix);
                assertThat(group).as("the settings " + prefix).isNotNull();
                group.settings().forEach(setting -> tables.append(row(setting)));
            }
        });
        assertThat(groups).as("settings of no subject").isEmpty();
        return tables.append('\n').toString();
    }

    private static String row(Setting setting) {
        return "| `%s` | %s | %s | %s |\n"
                .formatted(
                        variable(setting.name()),
                        preset(setting.method()),
                        range(setting.method()),
                        setting.description());
    }

    private static void add(
            Class<?> type, String prefix, Map<Class<?>, Map<String, String>> comments, Map<String, Group> groups) {
        Map<String, String> described = comments.get(type);
        List<Setting> settings = new ArrayList<>();
        groups.put(prefix, new Group(settings));
        described.forEach((method, comment) -> {
            if (method.isEmpty()) {
                return;
            }
            Method declared = method(type, method);
            String name = prefix + "." + StringUtil.skewer(method);
            if (declared.getReturnType().getEnclosingClass() == type) {
                add(declared.getReturnType(), name, comments, groups);
            } else {
                settings.add(new Setting(name, declared, text(comment, prefix)));
            }
        });
    }

    private static Method method(Class<?> type, String name) {
        try {
            return type.getDeclaredMethod(name);
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e);
        }
    }

    private static Map<String, List<String>> subjects() {
        Map<String, List<String>> subjects = new LinkedHashMap<>();
        subjects.put("Service", List.of("annals", "annals.management", "annals.viewer", "annals.logging"));
        subjects.put("Database", List.of("annals.database"));
        subjects.put("Connections and memory", List.of("annals.connections", "annals.body", "annals.memory"));
        subjects.put("Tokens and sign-in", List.of("annals.token", "annals.openid"));
        subjects.put("Writing", List.of("annals.append"));
        subjects.put("Reading", List.of("annals.feed", "annals.live", "annals.export"));
        subjects.put(
                "Searching and counting",
                List.of("annals.search", "annals.facets", "annals.statistics", "annals.projection"));
        subjects.put("Streams and alerts", List.of("annals.streams", "annals.alerts"));
        subjects.put("Proof", List.of("annals.log"));
        subjects.put("Retention and verification", List.of("annals.retention", "annals.verification"));
        return subjects;
    }

    private static String variable(String setting) {
        return StringUtil.replaceNonAlphanumericByUnderscores(setting).toUpperCase(Locale.ROOT);
    }

    private static String preset(Method setting) {
        WithDefault preset = setting.getAnnotation(WithDefault.class);
        return preset == null ? "" : "`" + preset.value() + "`";
    }

    private static String range(Method setting) {
        ConfigLimits.Min min = setting.getAnnotation(ConfigLimits.Min.class);
        ConfigLimits.Max max = setting.getAnnotation(ConfigLimits.Max.class);
        ConfigLimits.Durations durations = setting.getAnnotation(ConfigLimits.Durations.class);
        ConfigLimits.Texts texts = setting.getAnnotation(ConfigLimits.Texts.class);
        if (min != null && max != null) {
            return String.format(Locale.ROOT, "%,d–%,d", min.value(), max.value());
        } else if (durations != null) {
            return durations.min() + "–" + durations.max();
        } else if (texts != null) {
            return "`" + texts.value().replace("|", "\\|") + "`";
        }
        return setting.getReturnType() == boolean.class ? "`true`/`false`" : "";
    }

    /** Methods in braces, and names of settings, become variables of the environment. */
    private static String text(@Nullable String comment, String prefix) {
        assertThat(comment).as("the comment on something in " + prefix).isNotBlank();
        String linked = METHOD.matcher(comment)
                .replaceAll(link -> "`" + variable(prefix + "." + StringUtil.skewer(link.group(1))) + "`");
        return SETTING.matcher(linked)
                .replaceAll(name -> "`" + variable(name.group(1)) + "`")
                .replace("|", "\\|");
    }

    /** For each interface the comment on itself, under the name "", and on its methods, in their order. */
    private static Map<Class<?>, Map<String, String>> comments() throws IOException {
        Map<String, Class<?>> types = new LinkedHashMap<>();
        Settings.all().forEach(all -> Settings.groups(all).forEach(type -> types.put(type.getCanonicalName(), type)));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Map<Class<?>, Map<String, String>> comments = new LinkedHashMap<>();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            JavacTask task = (JavacTask)
                    compiler.getTask(null, files, null, null, null, files.getJavaFileObjectsFromPaths(sources()));
            DocTrees trees = DocTrees.instance(task);
            for (CompilationUnitTree unit : task.parse()) {
                new Comments(trees, types, comments)
                        .scan(unit, unit.getPackageName().toString());
            }
        }
        return comments;
    }

    private static List<Path> sources() throws IOException {
        try (Stream<Path> files = Files.walk(Path.of("src", "main", "java"))) {
            return files.filter(file -> file.toString().endsWith("Config.java"))
                    .sorted()
                    .toList();
        }
    }

    /** Reads a file, with the name of the class around each class. */
    private static final class Comments extends TreePathScanner<Void, String> {

        private final DocTrees trees;
        private final Map<String, Class<?>> types;
        private final Map<Class<?>, Map<String, String>> comments;

        Comments(DocTrees trees, Map<String, Class<?>> types, Map<Class<?>, Map<String, String>> comments) {
            this.trees = trees;
            this.types = types;
            this.comments = comments;
        }

        @Override
        public Void visitClass(ClassTree node, String outer) {
            String name = outer + "." + node.getSimpleName();
            Class<?> type = types.get(name);
            if (type != null) {
                Map<String, String> ofType = new LinkedHashMap<>();
                ofType.put("", comment(getCurrentPath()));
                for (Tree member : node.getMembers()) {
                    if (member instanceof MethodTree method) {
                        ofType.put(method.getName().toString(), comment(new TreePath(getCurrentPath(), member)));
                    }
                }
                comments.put(type, ofType);
            }
            return super.visitClass(node, name);
        }

        private String comment(TreePath path) {
            DocCommentTree comment = trees.getDocCommentTree(path);
            assertThat(comment).as("the comment on " + path.getLeaf()).isNotNull();
            StringBuilder text = new StringBuilder();
            comment.getFullBody().forEach(part -> text.append(inline(part)));
            return text.toString()
                    .replaceAll("(?s)<p>.*", "")
                    .replaceAll("\\s+", " ")
                    .strip();
        }

        private static String inline(DocTree part) {
            if (part instanceof LiteralTree literal) {
                return "`" + literal.getBody().getBody().strip() + "`";
            } else if (part instanceof LinkTree link) {
                return "{" + link.getReference().getSignature().replaceAll("[#()]", "") + "}";
            }
            return part.toString();
        }
    }
}
