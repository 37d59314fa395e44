package dev.annals.edges.delivery;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The fields of a profile in AWS's shared files, read as the AWS CLI reads them, with Python's {@code RawConfigParser}: a name of a field
 * may have capitals, a colon may stand for the equals sign, a deeper indented line continues a value, and every section also has the
 * fields of {@code [DEFAULT]}.
 */
final class AwsProfile {

    private static final Pattern SECTION = Pattern.compile("\\[(.+)]");
    private static final Pattern FIELD = Pattern.compile("(.*?)\\s*[=:]\\s*(.*)");
    /** Words as in a shell. */
    private static final Pattern NAMED = Pattern.compile("profile\\s+(?:\"([^\"]*)\"|'([^']*)'|(\\S+))");

    private static final String FOR_ALL = "DEFAULT";

    private AwsProfile() {}

    /**
     * The fields, by their names in lower case; empty if the file has no such profile.
     *
     * @param isConfig whether it is the file {@code config}, where all profiles but the default one have a prefix
     */
    static Map<String, String> read(String file, String name, boolean isConfig) {
        Map<String, Map<String, String>> sections = new HashMap<>();
        String profile = "";
        String section = "";
        boolean hasField = false;
        int indentation = 0;
        for (String line : file.split("\\R", -1)) {
            String text = line.strip();
            int before = line.indexOf(text);
            if (text.isEmpty() || text.startsWith("#") || text.startsWith(";") || (hasField && before > indentation)) {
                continue;
            }
            indentation = before;
            Matcher header = SECTION.matcher(text);
            Matcher field = FIELD.matcher(text);
            if (header.lookingAt()) {
                section = header.group(1).strip();
                hasField = false;
                if (name.equals(isConfig ? profileOf(section) : section)) {
                    // Of [default] and [profile default], the last one counts.
                    profile = section;
                }
                sections.putIfAbsent(section, new HashMap<>());
            } else if (field.matches() && sections.containsKey(section)) {
                hasField = true;
                sections.get(section).put(field.group(1).toLowerCase(Locale.ROOT), field.group(2));
            }
        }
        Map<String, String> fields = new HashMap<>();
        if (sections.containsKey(profile)) {
            fields.putAll(sections.getOrDefault(FOR_ALL, Map.of()));
            fields.putAll(sections.get(profile));
        }
        return fields;
    }

    private static String profileOf(String section) {
        Matcher named = NAMED.matcher(section);
        if (!named.matches()) {
            return section.equals("default") ? section : "";
        }
        return named.group(1) != null ? named.group(1) : named.group(2) != null ? named.group(2) : named.group(3);
    }
}
