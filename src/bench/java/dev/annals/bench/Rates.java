package dev.annals.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The measured rates: for each variant, one per round. */
public final class Rates {

    private final Map<String, List<Double>> byVariant = new LinkedHashMap<>();

    /** Measures one variant in one round. */
    @FunctionalInterface
    public interface Measurement<V> {
        /** A rate: how much was done in a second. */
        double rate(V variant) throws Exception;
    }

    /**
     * Measures all variants in every round. Each round begins with another variant, so that none always has the fresh
     * disk or the warm processor.
     */
    public static <V> Rates ofRounds(List<V> variants, int rounds, Measurement<V> measurement) throws Exception {
        Rates rates = new Rates();
        variants.forEach(variant -> rates.byVariant.put(variant.toString(), new ArrayList<>()));
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < variants.size(); i++) {
                V variant = variants.get((i + round) % variants.size());
                double rate = measurement.rate(variant);
                Progress.say(String.format("  round %d  %-60s %,12.0f /s", round + 1, variant, rate));
                rates.byVariant.get(variant.toString()).add(rate);
            }
        }
        return rates;
    }

    /** The median rate of a variant. */
    public double median(Object variant) {
        return middle(of(variant));
    }

    /** The median of the ratios of {@code variant} to {@code base} within each round. */
    public double ratio(Object variant, Object base) {
        return middle(ratios(variant, base));
    }

    /**
     * An interval, as text, that contains the true median of those ratios with a probability of about 95 %: the order statistics
     * that the normal approximation of the binomial distribution selects. Meaningful from ten rounds on.
     */
    public String ratioInterval(Object variant, Object base) {
        double[] sorted = ratios(variant, base).stream()
                .mapToDouble(Double::doubleValue)
                .sorted()
                .toArray();
        double half = 0.98 * Math.sqrt(sorted.length);
        int low = (int) Math.max(0, Math.floor(sorted.length / 2.0 - half) - 1);
        int high = (int) Math.min(sorted.length - 1, Math.ceil(sorted.length / 2.0 + half));
        return String.format("%.3f – %.3f", sorted[low], sorted[high]);
    }

    private List<Double> ratios(Object variant, Object base) {
        List<Double> numerators = of(variant);
        List<Double> denominators = of(base);
        List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < numerators.size(); round++) {
            ratios.add(numerators.get(round) / denominators.get(round));
        }
        return ratios;
    }

    /** The lowest and the highest rate of a variant, as text. */
    public String range(Object variant) {
        double[] sorted =
                of(variant).stream().mapToDouble(Double::doubleValue).sorted().toArray();
        return String.format("%,.0f – %,.0f", sorted[0], sorted[sorted.length - 1]);
    }

    private List<Double> of(Object variant) {
        return byVariant.get(variant.toString());
    }

    private static double middle(List<Double> values) {
        double[] sorted = values.stream().mapToDouble(Double::doubleValue).toArray();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
