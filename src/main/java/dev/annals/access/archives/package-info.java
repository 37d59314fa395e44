/** Descriptions of archives of records. */
@NullMarked
package dev.annals.access.archives;

import org.jspecify.annotations.NullMarked;
