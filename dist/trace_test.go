package dist

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
)

// forgetful is a device that forgets one call of some that a factorization consists of, and says that all is
// well.
type forgetful struct {
	kernels.Backend
	calls  atomic.Int64
	forget int64 // the number of the call, 0: none
}

func (d *forgetful) forgets() bool { return d.calls.Add(1) == d.forget }

func (d *forgetful) Reflect(q kernels.Reflectors, transposed bool, c []kernels.Panel, of int) error {
	if d.forgets() {
		return nil
	}
	return d.Backend.Reflect(q, transposed, c, of)
}

func (d *forgetful) MoveColumns(dst kernels.Panel, to []int, src kernels.Panel, from []int) error {
	if len(to) > 0 && d.forgets() {
		return nil
	}
	return d.Backend.MoveColumns(dst, to, src, from)
}

// Where a device forgets a part of its work, no result has another sum of squares than the matrix, with the
// signs of the columns: the run fails. What is left of wrong results is what keeps that sum.
func TestForgetfulDevices(t *testing.T) {
	const m, n = 150, 120
	signs := slices.Concat(slices.Repeat([]float64{1}, n/3), slices.Repeat([]float64{-1}, n-n/3))
	for _, c := range []struct {
		kind         string
		precondition Preconditioner
		signs        []float64
	}{
		{"gauss", QRCPLQ, nil}, {"graded-cols", QRCPLQ, nil}, {"gauss", QRLQ, nil}, {"gauss", QR, nil},
		{"lowrank", QRCPLQ, nil}, {"gauss", QR, signs}, {"lowrank", AutoPreconditioner, signs},
	} {
		a := disttest.Generate(t, c.kind, gen.Options{Rows: m, Cols: n, Seed: 5})
		run := func(forget int64) (*forgetful, solved, error) {
			d := &forgetful{forget: forget}
			task := both(m, n)
			task.Wanted, task.Precondition, task.Signs, task.Precision = Wanted{}, c.precondition, c.signs, Float64
			s, err := tryOn(t, a, 1, task, func() ([]kernels.Backend, error) {
				be, err := disttest.OpenApart()
				d.Backend = be
				return []kernels.Backend{d}, err
			})
			return d, s, err
		}
		d, _, err := run(0)
		if err != nil {
			t.Fatal(err)
		}
		positive := n
		if c.signs != nil {
			positive = n / 3
		}
		size, want := kernels.Norm2(a), 0.0
		for j := range n {
			want += signedSquare(a[j*m:(j+1)*m], m*min(1, max(0, positive-j)), size)
		}
		calls, caught := d.calls.Load(), 0
		for k := int64(1); k <= calls; k++ {
			_, got, err := run(k)
			var known *comm.Failure
			switch {
			case errors.As(err, &known):
				if strings.Contains(known.Text, "add up") {
					caught++
				}
			case err != nil:
				t.Error(err)
			default:
				if off := math.Abs(signedSquare(got.Sigma, positive, size) - want); !(off < 1e-10) {
					t.Errorf("%s, %s: without call %d of %d the squares of S are off by %.2g", c.kind, c.precondition, k,
						calls, off)
				}
			}
		}
		t.Logf("%s, %s, %t: %d of %d caught", c.kind, c.precondition, c.signs != nil, caught, calls)
		if caught == 0 {
			t.Errorf("%s, %s: nothing was noticed", c.kind, c.precondition)
		}
	}
}
