package dense

import (
	"math"
	"slices"
	"testing"

	"jmpi/kernels"
)

// What is left of a copy becomes zero as soon as the other one is taken, while longer columns are left; a
// small column with elements of its own does not.
func TestCopiesBecomeZeroAtOnce(t *testing.T) {
	const m, n = 40, 5
	sizes := []float64{1, 1, 1e-3, 1e-17, 1e-18}
	a := graded(9, m, n, nil, func(j int) float64 { return sizes[j] })
	copy(a[m:2*m], a[:m])
	norms := make([]float64, n)
	for j := range norms {
		norms[j] = Norm(a[j*m : (j+1)*m])
	}
	even := slices.Repeat([]float64{1 / math.Sqrt(m)}, m)
	for _, reach := range []float64{0, 1e-10, 1e-25} {
		noise := NewNoise(4*math.Sqrt(n)*eps, norms, Bound{Rows: even, Columns: norms})
		p := FactorPivoted(m, n, slices.Clone(a), 0, noise, kernels.Dropping{Reach: reach, Retain: true})
		if reach > 0 && reach < 1e-15 {
			if len(p.Noisy) != 1 || p.Noisy[0][1] != 1 || p.Noisy[0][0] > 1 || p.Count != n-1 || p.Rank != n-1 {
				t.Errorf("reach %g: %v are noise, %d were taken, rank %d; want one copy at step 1, %d, %d",
					reach, p.Noisy, p.Count, p.Rank, n-1, n-1)
			}
			continue
		}
		if len(p.Noisy) != 0 {
			t.Errorf("reach %g: %v became zero", reach, p.Noisy)
		}
	}
}
