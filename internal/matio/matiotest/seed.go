package matiotest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Seed returns the seed of a test's random numbers, the same in every run. With JMPI_TEST_SEED=N it is N, and
// with JMPI_TEST_SEED=clock another one each time, which the test logs.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed, err := uint64(1), error(nil)
	switch text := os.Getenv("JMPI_TEST_SEED"); text {
	case "":
	case "clock":
		seed = uint64(time.Now().UnixNano()) % 1e9
	default:
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("JMPI_TEST_SEED: %v", err)
		}
	}
	t.Logf("JMPI_TEST_SEED=%d", seed)
	return seed
}
