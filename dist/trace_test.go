package dist

import (
	"errors"
	"fmt"
	"math"
	"slices"
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

// Where a device forgets a part of its work, no result with both kinds of vectors is wrong, and none without
// has another sum of squares than the matrix, with the signs of the columns: the run fails. What is left of
// wrong results is what keeps that sum.
func TestForgetfulDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("runs several hundred decompositions")
	}
	const m, n = 150, 120
	signs := slices.Concat(slices.Repeat([]float64{1}, n/3), slices.Repeat([]float64{-1}, n-n/3))
	for _, c := range []struct {
		kind         string
		precondition Preconditioner
		v            RightVectors
		signs        []float64
	}{
		{"gauss", QRCPLQ, AutoRight, nil}, {"graded-cols", QRCPLQ, FromLeft, nil}, {"gauss", QRLQ, Accumulate, nil},
		{"gauss", QR, AutoRight, nil}, {"gauss", NoPreconditioner, Accumulate, nil},
		{"lowrank", QRCPLQ, AutoRight, nil}, {"gauss", QR, AutoRight, signs},
		{"lowrank", AutoPreconditioner, AutoRight, signs},
	} {
		a := disttest.Generate(t, c.kind, gen.Options{Rows: m, Cols: n, Seed: 5})
		for _, wanted := range []Wanted{{Left: true, Right: true}, {}} {
			f := forgetting{a: a, task: both(m, n)}
			f.task.Wanted, f.task.Precondition, f.task.V, f.task.Signs = wanted, c.precondition, c.v, c.signs
			f.task.Precision = Float64
			name := fmt.Sprintf("%s, %s, signs %t, %+v", c.kind, c.precondition, c.signs != nil, wanted)
			t.Run(name, f.test)
		}
	}
}

// forgetting is a task on a device that forgets.
type forgetting struct {
	a    []float64
	task Task
}

func (f forgetting) run(t *testing.T, call int64) (*forgetful, solved, error) {
	d := &forgetful{forget: call}
	s, err := tryOn(t, f.a, 1, f.task, func() ([]kernels.Backend, error) {
		be, err := disttest.OpenApart()
		d.Backend = be
		return []kernels.Backend{d}, err
	})
	return d, s, err
}

func (f forgetting) test(t *testing.T) {
	d, _, err := f.run(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	calls, caught := d.calls.Load(), 0
	for k := int64(1); k <= calls; k++ {
		_, got, err := f.run(t, k)
		var known *comm.Failure
		switch {
		case errors.As(err, &known):
			if known.Kind == comm.BadResource {
				caught++
			}
		case err != nil:
			t.Error(err)
		case f.task.Left:
			got.verify(t, f.a, 10)
		default:
			if off := f.off(got.Sigma); !(off < 1e-10) {
				t.Errorf("without call %d of %d the squares of S are off by %.2g", k, calls, off)
			}
		}
	}
	t.Logf("%d of %d caught", caught, calls)
	if caught == 0 && calls > 5 {
		t.Error("nothing was noticed")
	}
}

// off returns how far the squares of S are from those of the matrix, with the signs of the columns.
func (f forgetting) off(sigma []float64) float64 {
	m, positive := f.task.M, f.task.N
	if f.task.Signs != nil {
		positive = 0
		for _, s := range f.task.Signs {
			positive += int(1+s) / 2
		}
	}
	size, want := kernels.Norm2(f.a), 0.0
	for j := range f.task.N {
		want += signedSquare(f.a[j*m:(j+1)*m], m*min(1, max(0, positive-j)), size)
	}
	return math.Abs(signedSquare(sigma, positive, size) - want)
}
