package dev.annals.survival;

import static org.assertj.core.api.Assertions.assertThat;

import dev.annals.survival.Verdict.Entry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The check of all faults finds what is planted. */
class VerdictTest {

    private final Map<UUID, Long> told = new HashMap<>();
    private final List<Entry> feed = new ArrayList<>();
    private final List<Entry> reader = new ArrayList<>();

    @BeforeEach
    void fill() {
        for (long place = 1; place <= 10; place++) {
            Entry entry = new Entry(place, UUID.randomUUID());
            told.put(entry.id(), place);
            feed.add(entry);
            reader.add(entry);
        }
    }

    private Verdict verdict() {
        return Verdict.of(told, feed, List.of(List.copyOf(feed), reader));
    }

    @Test
    void whatIsAsItWasToldIsSound() {
        assertThat(verdict()).isEqualTo(new Verdict(10, 0, 0, 0, 0, 0));
        assertThat(verdict().isSound()).isTrue();
    }

    @Test
    void aRecordThatNobodyWasToldOfMayBeThere() {
        told.remove(feed.get(4).id());

        assertThat(verdict().isSound()).isTrue();
    }

    @Test
    void nothingToldIsNoProof() {
        assertThat(Verdict.of(Map.of(), List.of(), List.of()).isSound()).isFalse();
    }

    @Test
    void aLostTailIsFound() {
        feed.remove(9);
        reader.remove(9);

        assertThat(verdict()).isEqualTo(new Verdict(10, 1, 0, 0, 0, 0));
    }

    @Test
    void aRecordLostInTheMiddleIsFound() {
        feed.remove(4);
        reader.remove(4);

        Verdict verdict = verdict();
        assertThat(verdict.lost()).isEqualTo(1);
        assertThat(verdict.misnumbered()).isEqualTo(5);
        assertThat(verdict.isSound()).isFalse();
    }

    @Test
    void renumberedRecordsAreFound() {
        UUID first = feed.get(2).id();
        feed.set(2, new Entry(3, feed.get(3).id()));
        feed.set(3, new Entry(4, first));

        Verdict verdict = verdict();
        assertThat(verdict.renumbered()).isEqualTo(2);
        assertThat(verdict.skipped()).isEqualTo(2);
        assertThat(verdict.isSound()).isFalse();
    }

    @Test
    void aRecordStoredTwiceIsFound() {
        Entry again = new Entry(11, feed.get(9).id());
        feed.add(again);
        reader.add(again);

        assertThat(verdict().doubled()).isEqualTo(3);
        assertThat(verdict().isSound()).isFalse();
    }

    @Test
    void aRecordThatAReaderNeverSawIsFound() {
        reader.remove(6);

        assertThat(verdict().skipped()).isEqualTo(4);
        assertThat(verdict().isSound()).isFalse();
    }

    @Test
    void aReaderWhoSawTheRecordThatAnotherTookThePlaceOfIsFound() {
        reader.set(9, new Entry(10, UUID.randomUUID()));

        assertThat(verdict()).isEqualTo(new Verdict(10, 0, 0, 0, 0, 1));
    }

    @Test
    void aRecordThatAReaderSawTwiceIsFound() {
        reader.add(5, reader.get(4));

        assertThat(verdict().doubled()).isEqualTo(1);
        assertThat(verdict().isSound()).isFalse();
    }
}
