package dev.annals.tools.cli;

import dev.annals.access.caller.Scope;
import io.quarkus.runtime.annotations.RegisterForReflection;
import java.util.Iterator;

/** The scopes that tokens and grants have, for help and completion. */
@RegisterForReflection
final class GrantedScopes implements Iterable<String> {

    @Override
    public Iterator<String> iterator() {
        return Scope.granted().map(Scope::text).iterator();
    }
}
