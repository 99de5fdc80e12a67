package rivals

import (
	"errors"
	"strings"
	"testing"
)

// Where cuSOLVERMp is not there, opening it says so. Where it is, one process decomposes a matrix with it.
func TestCUSOLVERMP(t *testing.T) {
	alone := Ranks{Size: 1, FromFirst: func(b []byte) ([]byte, error) { return b, nil },
		Barrier: func() error { return nil }}
	agreed := 0
	c, err := OpenCUSOLVERMP(0, alone, func(err error) error {
		agreed++
		return err
	})
	if agreed == 0 {
		t.Error("the processes did not agree whether the library is there")
	}
	if err != nil {
		if !errors.Is(err, ErrMissing) || !strings.HasPrefix(err.Error(), "cuSOLVERMp: ") {
			t.Error(err)
		}
		return
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	const m, n = 300, 200
	a := gauss(m, n)
	r, err := c.SVD(m, n, a)
	if err != nil {
		t.Fatal(err)
	}
	checkWithin(t, 1e-11, m, n, a, r)
}
