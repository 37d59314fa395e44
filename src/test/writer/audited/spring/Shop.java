package shop;

import java.util.List;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.security.authentication.TestingAuthenticationToken;
import org.springframework.security.core.context.SecurityContextHolder;

public class Shop {
    public static void main(String[] arguments) {
        try (var context = new AnnotationConfigApplicationContext(Audit.class, Transactions.class, Volumes.class)) {
            Volumes volumes = context.getBean(Volumes.class);
            for (String name : List.of("cache", "bad", "late")) {
                SecurityContextHolder.getContext().setAuthentication(new TestingAuthenticationToken("u-" + name, ""));
                try {
                    volumes.create(name);
                } catch (IllegalArgumentException | IllegalStateException e) {
                    System.out.println(e.getMessage());
                }
            }
        }
    }
}
