/** The PostgreSQL that the service brings along, for those who do not configure another. */
@NullMarked
package dev.annals.tools.embedded;

import org.jspecify.annotations.NullMarked;
