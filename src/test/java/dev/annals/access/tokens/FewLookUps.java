package dev.annals.access.tokens;

import jakarta.enterprise.inject.Alternative;
import jakarta.inject.Singleton;

/** One look-up of a token at a time, while two wait. */
@Alternative
@Singleton
public class FewLookUps extends LookUpBounds {

    static final int WAITING = 2;

    @Override
    public int atATime() {
        return 1;
    }

    @Override
    public int waiting() {
        return WAITING;
    }
}
