/** Archives of records, as far as the service knows them. */
@NullMarked
package dev.annals.access.archives;

import org.jspecify.annotations.NullMarked;
