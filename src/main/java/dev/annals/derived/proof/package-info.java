/** The secrets of logs: keys that sign notes, and stored seeds of salts. */
@NullMarked
package dev.annals.derived.proof;

import org.jspecify.annotations.NullMarked;
