package dev.annals.edges.export;

import java.util.EnumMap;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A class of OCSF 1.6.0, and the words of actions that name its activities: {@code word:id}. The first word of an id in capitals is the
 * activity's caption.
 */
enum OcsfClass {
    FILE_SYSTEM_ACTIVITY(
            1001,
            "System Activity",
            "Create:1 created add added upload uploaded Read:2 get list view viewed download downloaded Update:3 updated change"
                    + " changed edit edited modify modified Delete:4 deleted remove removed Rename:5 renamed Open:14 opened"),
    ACCOUNT_CHANGE(
            3001,
            "Identity & Access Management",
            "Create:1 created add added register registered Enable:2 enabled activate activated Disable:5 disabled deactivate"
                    + " deactivated suspend suspended Delete:6 deleted remove removed Lock:9 locked Unlock:12 unlocked"),
    AUTHENTICATION(
            3002,
            "Identity & Access Management",
            "Logon:1 login signin authenticate authenticated in Logoff:2 logout signout out"),
    AUTHORIZE_SESSION(
            3003,
            "Identity & Access Management",
            "Assign_Privileges:1 assign assigned grant granted authorize authorized"),
    USER_ACCESS_MANAGEMENT(
            3005,
            "Identity & Access Management",
            "Assign_Privileges:1 assign assigned grant granted add added Revoke_Privileges:2 revoke revoked remove removed"),
    GROUP_MANAGEMENT(
            3006,
            "Identity & Access Management",
            "Assign_Privileges:1 assign assigned grant granted Revoke_Privileges:2 revoke revoked Add_User:3 add added join"
                    + " joined Remove_User:4 remove removed leave left Delete:5 deleted Create:6 created"),
    WEB_RESOURCES_ACTIVITY(
            6001,
            "Application Activity",
            OcsfClass.BASIC + " Search:5 searched Import:6 imported Export:7 exported Share:8 shared"),
    API_ACTIVITY(6003, "Application Activity", OcsfClass.BASIC),
    DATASTORE_ACTIVITY(
            6005,
            "Application Activity",
            "Read:1 get view viewed Update:2 updated change changed edit edited modify modified Connect:3 connected Query:4 queried"
                    + " Write:5 written insert inserted Create:6 created add added Delete:7 deleted remove removed List:8 listed");

    static final int OTHER = 99;

    private static final String BASIC =
            "Create:1 created add added insert Read:2 get list view viewed Update:3 updated change"
                    + " changed edit edited modify modified rename renamed Delete:4 deleted remove removed";

    private static final Map<OcsfClass, Activities> ACTIVITIES = new EnumMap<>(OcsfClass.class);

    static {
        for (OcsfClass each : values()) {
            ACTIVITIES.put(each, Activities.of(each.words));
        }
    }

    private final int uid;
    private final String category;
    private final String words;

    OcsfClass(int uid, String category, String words) {
        this.uid = uid;
        this.category = category;
        this.words = words;
    }

    private record Activities(Map<String, Integer> ids, Map<Integer, String> captions) {

        static Activities of(String words) {
            Map<String, Integer> ids = new HashMap<>();
            Map<Integer, String> captions = new HashMap<>();
            int id = OTHER;
            for (String word : words.split(" ", -1)) {
                int colon = word.indexOf(':');
                if (colon > 0) {
                    id = Integer.parseInt(word.substring(colon + 1));
                    captions.put(id, word.substring(0, colon).replace('_', ' '));
                }
                ids.put(word.substring(0, colon > 0 ? colon : word.length()).toLowerCase(Locale.ROOT), id);
            }
            return new Activities(ids, captions);
        }
    }

    /** API Activity if the catalogue names no class. */
    static OcsfClass of(@Nullable Integer uid) {
        for (OcsfClass each : values()) {
            if (uid != null && each.uid == uid) {
                return each;
            }
        }
        return API_ACTIVITY;
    }

    int uid() {
        return uid;
    }

    String caption() {
        StringBuilder caption = new StringBuilder();
        for (String word : name().split("_", -1)) {
            caption.append(caption.isEmpty() ? "" : " ")
                    .append(
                            word.equals("API")
                                    ? word
                                    : word.charAt(0) + word.substring(1).toLowerCase(Locale.ROOT));
        }
        return caption.toString();
    }

    int categoryUid() {
        return uid / 1_000;
    }

    String category() {
        return category;
    }

    /** The last word of an action that names an activity; otherwise {@link #OTHER}. */
    int activityOf(String action) {
        Map<String, Integer> ids = Objects.requireNonNull(ACTIVITIES.get(this)).ids();
        int activity = OTHER;
        for (String word : action.split("[^\\p{L}]+|(?<=\\p{Ll})(?=\\p{Lu})", -1)) {
            activity = ids.getOrDefault(word.toLowerCase(Locale.ROOT), activity);
        }
        return activity;
    }

    String activityName(int activity, String action) {
        return Objects.requireNonNull(ACTIVITIES.get(this)).captions().getOrDefault(activity, action);
    }
}
