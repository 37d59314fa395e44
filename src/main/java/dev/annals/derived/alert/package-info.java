/** Alerts: saved queries of projects, and the events in the administration's feed where too many records match. */
@NullMarked
package dev.annals.derived.alert;

import org.jspecify.annotations.NullMarked;
