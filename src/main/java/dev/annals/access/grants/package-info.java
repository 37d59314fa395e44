/** Which identities of a provider may use which project. */
@NullMarked
package dev.annals.access.grants;

import org.jspecify.annotations.NullMarked;
