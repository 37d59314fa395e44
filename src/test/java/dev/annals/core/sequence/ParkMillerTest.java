package dev.annals.core.sequence;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.util.List;
import org.junit.jupiter.api.Test;

class ParkMillerTest {

    @Test
    void theTenThousandthValueFromSeedOneIsThePublishedOne() {
        int value = 1;
        for (int i = 0; i < 10_000; i++) {
            value = ParkMiller.next(value);
        }
        assertThat(value).isEqualTo(1_043_618_065);
        assertThat(ParkMiller.at(1, 10_000)).isEqualTo(1_043_618_065);
    }

    @Test
    void schragesMethodIsExactAtTheEdges() {
        for (int x :
                List.of(1, 2, 127_772, 127_773, 127_774, 1 << 30, ParkMiller.MODULUS - 2, ParkMiller.MODULUS - 1)) {
            int expected = BigInteger.valueOf(x)
                    .multiply(BigInteger.valueOf(16_807))
                    .mod(BigInteger.valueOf(2_147_483_647))
                    .intValueExact();
            assertThat(ParkMiller.next(x)).as("after %d", x).isEqualTo(expected);
            assertThat(ParkMiller.at(x, 1)).isEqualTo(expected);
        }
    }

    /** The order of the multiplier divides m - 1; it is m - 1 where no (m - 1) / p, p prime, will do. */
    @Test
    void thePeriodHoldsEveryValueOnce() {
        List<Integer> primes = List.of(2, 3, 7, 11, 31, 151, 331);
        assertThat(2L * 3 * 3 * 7 * 11 * 31 * 151 * 331).isEqualTo(ParkMiller.PERIOD);
        assertThat(ParkMiller.at(1, ParkMiller.PERIOD)).isEqualTo(1);
        for (int prime : primes) {
            assertThat(ParkMiller.at(1, ParkMiller.PERIOD / prime)).isNotEqualTo(1);
        }
    }
}
