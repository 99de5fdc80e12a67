package dist

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// leads asserts that o has the first singular values and vectors of whole, so many, to the rounding errors
// of a decomposition: A·v = σ·u, Aᵀ·u = σ·v, and orthonormal columns.
func (o solved) leads(t *testing.T, a []float64, whole solved, count int) {
	t.Helper()
	if o.Count != count || !slices.Equal(o.s, whole.s) {
		t.Fatalf("%d singular values, want %d with the same bits", o.Count, count)
	}
	if rest := slices.Concat(o.u[count*o.m:], o.v[count*o.n:]); slices.ContainsFunc(rest,
		func(x float64) bool { return x != 0 }) {
		t.Error("vectors that are not wanted were handed out")
	}
	limit := float64(o.m) * kernels.Epsilon * kernels.Norm2(a)
	for k := range count {
		u, v := o.u[k*o.m:(k+1)*o.m], o.v[k*o.n:(k+1)*o.n]
		right, left := make([]float64, o.m), make([]float64, o.n)
		for j := range o.n {
			for i := range o.m {
				right[i] += a[j*o.m+i] * v[j]
				left[j] += a[j*o.m+i] * u[i]
			}
		}
		for i := range right {
			right[i] -= o.s[k] * u[i]
		}
		for j := range left {
			left[j] -= o.s[k] * v[j]
		}
		if off := math.Hypot(kernels.Norm2(right), kernels.Norm2(left)); !(off <= limit) {
			t.Errorf("pair %d is off by %.2g, limit %.2g", k+1, off, limit)
		}
	}
	for name, x := range map[string][]float64{"U": o.u[:count*o.m], "V": o.v[:count*o.n]} {
		off := disttest.Orthogonality(x, len(x)/count, count) * float64(count) / float64(o.n)
		if !(off < 1) { // in the units of the whole, as check has it
			t.Errorf("%s is not orthonormal: %.2g", name, off)
		}
	}
}

// The first columns alone come from every way to the vectors: from the block-columns where they lie, from U,
// through preconditioners, of a rank below the order, completed, from slabs by Gram matrices and by
// reflectors, and from float32. They are the same however the devices are split into ranks.
func TestLeading(t *testing.T) {
	for _, c := range []struct {
		kind         string
		m, n         int
		cond         float64
		rank         int64
		precondition Preconditioner
		v            RightVectors
		precision    Precision
	}{
		{kind: "gauss", m: 90, n: 70, precondition: NoPreconditioner, v: Accumulate},
		{kind: "gauss", m: 90, n: 70, precondition: NoPreconditioner, v: FromLeft},
		{kind: "gauss", m: 70, n: 70, precondition: NoPreconditioner, v: FromLeft},
		{kind: "gauss", m: 90, n: 70, precondition: QR},
		{kind: "gauss", m: 90, n: 70, precondition: QRCP, v: Accumulate},
		{kind: "gauss", m: 90, n: 70, precondition: QRCPLQ, v: FromLeft},
		{kind: "gauss", m: 90, n: 70, precondition: QRLQ, v: Accumulate},
		{kind: "gauss", m: 150, n: 130, precision: Float32},
		{kind: "graded-rows", m: 80, n: 70, cond: 1e12},
		{kind: "graded-cols", m: 80, n: 70, cond: 1e12},
		{kind: "lowrank", m: 80, n: 70, rank: 33},
		{kind: "lowrank", m: 80, n: 70, rank: 33, precondition: NoPreconditioner, v: Accumulate},
		{kind: "gauss", m: 1500, n: 70},
		{kind: "lowrank", m: 1500, n: 70, rank: 33},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			a := disttest.Generate(t, c.kind, gen.Options{Rows: int64(c.m), Cols: int64(c.n), Seed: 1,
				Cond: c.cond, Rank: c.rank})
			task := both(c.m, c.n)
			task.Precondition, task.V, task.Precision = c.precondition, c.v, c.precision
			whole := find(t, a, 1, 2, task)
			for _, count := range []int{1, 32, 33, 34, c.n - 1, c.n} {
				task.Most = count
				one := find(t, a, 1, 2, task)
				one.leads(t, a, whole, count)
				if two := find(t, a, 2, 1, task); !slices.Equal(one.u, two.u) || !slices.Equal(one.v, two.v) {
					t.Errorf("%d columns: other bits on two ranks", count)
				}
			}
		})
	}
}

// Above counts relative to the largest singular value, with Most the smaller number counts, and nothing may
// be left.
func TestWantedCount(t *testing.T) {
	for _, c := range []struct {
		most  int
		above float64
		sigma []float64
		want  int
	}{
		{0, 0, []float64{4, 2, 1, 0}, 4},
		{3, 0, []float64{4, 2, 1, 0}, 3},
		{9, 0, []float64{4, 2, 1, 0}, 4},
		{0, 0.5, []float64{4, 2, 1, 0}, 1},
		{0, 0.49, []float64{4, 2, 1, 0}, 2},
		{1, 0.1, []float64{4, 2, 1, 0}, 1},
		{0, 1e-300, []float64{4, 2, 1, 0}, 3},
		{0, 0.5, []float64{0, 0}, 0},
		{2, 0.5, nil, 0},
	} {
		if got := (Wanted{Most: c.most, Above: c.above}).count(c.sigma); got != c.want {
			t.Errorf("most %d, above %g of %v: %d, want %d", c.most, c.above, c.sigma, got, c.want)
		}
	}
}

// Of a zero matrix nothing is above the largest.
func TestLeadingNothing(t *testing.T) {
	task := both(6, 4)
	task.Above = 0.5
	if o := find(t, make([]float64, 24), 2, 1, task); o.Count != 0 || len(o.s) != 4 {
		t.Errorf("%d of %d singular values", o.Count, len(o.s))
	}
}
