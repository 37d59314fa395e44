package shop;

import org.springframework.transaction.annotation.Transactional;

public class Volumes {
    @Transactional
    @Audited("volume_create")
    public void create(String name) {
        if (name.equals("bad")) {
            throw new IllegalArgumentException(name);
        }
        if (name.equals("late")) {
            Transactions.failCommit();
        }
    }
}
