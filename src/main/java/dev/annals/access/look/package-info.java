/** How the viewer shows a project to an application's customers: name, logo, colour, and the pages that may embed it. */
@NullMarked
package dev.annals.access.look;

import org.jspecify.annotations.NullMarked;
