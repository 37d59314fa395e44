package dev.annals.access.holds;

import dev.annals.kernel.http.RequestFields;
import java.util.Set;

/** {@code {"reason": "…"}}. */
record Lifting(String reason) {

    static Lifting read(byte[] body) {
        RequestFields fields = new RequestFields(body, Set.of("reason"));
        String reason = fields.text("reason", NewHold.MAX_REASON, true);
        fields.requireValid();
        return new Lifting(reason == null ? "" : reason);
    }
}
