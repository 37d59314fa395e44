/** Alerts: saved queries of projects, which append an event to the administration's feed if too many records match. */
@NullMarked
package dev.annals.derived.alert;

import org.jspecify.annotations.NullMarked;
