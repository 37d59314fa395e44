/** The PostgreSQL that the service brings along, for those who name no other. */
@NullMarked
package dev.annals.embedded;

import org.jspecify.annotations.NullMarked;
