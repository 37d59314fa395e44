package dev.annals.kernel.http;

import jakarta.enterprise.inject.Any;
import jakarta.enterprise.inject.spi.Bean;
import jakarta.enterprise.inject.spi.BeanManager;
import jakarta.inject.Singleton;
import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.PATCH;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** All resource methods of the service, from their annotations. */
@Singleton
public final class ResourceMethods {

    private static final Map<Class<? extends Annotation>, String> HTTP_METHODS = Map.of(
            GET.class, "GET", POST.class, "POST", PUT.class, "PUT", PATCH.class, "PATCH", DELETE.class, "DELETE");

    private final List<ResourceMethod> all;

    /**
     * A method of a resource.
     *
     * @param path a template such as {@code /v1/projects/{project}}
     */
    public record ResourceMethod(String httpMethod, String path, Method method) {}

    // Works in native executables, too: Quarkus registers the declared methods of resources for reflection.
    ResourceMethods(BeanManager beans) {
        all = beans.getBeans(Object.class, Any.Literal.INSTANCE).stream()
                .map(Bean::getBeanClass)
                .filter(type -> type.isAnnotationPresent(Path.class))
                .flatMap(ResourceMethods::of)
                .toList();
    }

    public List<ResourceMethod> all() {
        return all;
    }

    public static Stream<ResourceMethod> of(Class<?> resource) {
        return Arrays.stream(resource.getDeclaredMethods())
                .flatMap(method -> HTTP_METHODS.entrySet().stream()
                        .filter(http -> method.isAnnotationPresent(http.getKey()))
                        .map(http -> new ResourceMethod(http.getValue(), path(method), method)));
    }

    public static String path(Method method) {
        String base = method.getDeclaringClass().getAnnotation(Path.class).value();
        Path path = method.getAnnotation(Path.class);
        return path == null ? base : base + (path.value().startsWith("/") ? "" : "/") + path.value();
    }
}
