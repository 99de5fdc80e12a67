package residual

import (
	"math"
	"path/filepath"
	"testing"

	"jmpi/internal/matio"
)

// A column of equal numbers has a norm that is wrong by at most an ε or two, but a plain sum of its squares
// is wrong by many: all rounding errors have the same sign.
func TestOrthogonalityOfEqualNumbers(t *testing.T) {
	for _, m := range []int{150, 300, 5000} {
		path := filepath.Join(t.TempDir(), "u.npy")
		w, err := matio.CreateNpy(path, int64(m), 1)
		if err != nil {
			t.Fatal(err)
		}
		u := make([]float64, m)
		for i := range u {
			u[i] = 1 / math.Sqrt(float64(m))
		}
		if err := w.WriteColumns(0, u, m, 1); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := matio.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		d := &factors{budget: 1 << 20}
		got, err := d.orthogonality(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if !(got < 2) {
			t.Errorf("%d equal numbers: %g", m, got)
		}
	}
}
