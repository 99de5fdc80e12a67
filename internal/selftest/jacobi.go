package selftest

import (
	"math"
	"math/rand/v2"
	"slices"

	"jmpi/kernels"
)

// toConvergence is the limit of sweeps of the full block variant.
const toConvergence = 30

// rotated returns the pivots with factors and the transformations that the reference finds for them.
func rotated(reference kernels.Backend) (problems, error) {
	x := pivotProblems()
	for i := range x.tally {
		x.tally[i].Broken = 1
	}
	x, err := x.on(reference, reference.QR)
	if err != nil {
		return x, err
	}
	return x.on(reference, sweeps(reference, 96, toConvergence))
}

// sweeps returns the pointwise method for factors up to an order.
func sweeps(be kernels.Backend, order, limit int) func(b *kernels.Batch) error {
	return func(b *kernels.Batch) error {
		s, err := schedule(order)
		if err != nil {
			return err
		}
		return be.Jacobi(b, kernels.JacobiOptions{Schedule: s, MaxSweeps: limit})
	}
}

// rotationsTest compares single rotations. The factors are block-diagonal with blocks [a b; 0 c], whose Gram
// matrices [a² ab; ab b²+c²] can be rounded in one way only, and the only p-step meets each block once.
func rotationsTest(device, reference kernels.Backend) (float64, error) {
	r := rand.New(rand.NewPCG(6, 6))
	const order = 32
	s := &kernels.Schedule{Order: order}
	for p := int32(0); p < order; p += 2 {
		s.Pairs = append(s.Pairs, p, p+1)
	}
	var x problems
	for range 16 {
		f := zeros(order, order)
		for p := 0; p < order; p += 2 {
			f.column(p)[p] = 1 + r.Float64()
			f.column(p + 1)[p] = r.NormFloat64() * math.Exp2(-40*r.Float64())
			f.column(p + 1)[p+1] = math.Exp2(20 * (r.Float64() - 0.5))
		}
		x.r, x.t, x.tally = append(x.r, f), append(x.t, zeros(order, order)), append(x.tally, kernels.Tally{})
	}
	got, want, err := x.onBoth(device, reference, func(be kernels.Backend, b *kernels.Batch) error {
		return be.Jacobi(b, kernels.JacobiOptions{Schedule: s, MaxSweeps: 1})
	})
	if err != nil {
		return 0, err
	}
	differences := differingTallies(got, want)
	for i := range x.r {
		differences += want.r[i].differing(got.r[i])
	}
	return float64(differences), nil
}

// factors returns triangular factors of the largest order that both sides take and of smaller ones,
// some with graded columns.
func factors(device, reference kernels.Backend) (x problems, order int) {
	r := rand.New(rand.NewPCG(7, 7))
	order = min(device.Limits().PointwiseOrder, reference.Limits().PointwiseOrder) &^ 1
	for _, k := range []int{order, order - 1, max(2, order/2), 2, 1} {
		for _, decades := range []float64{0, 12, 100} {
			f := zeros(k, k)
			for j := range k {
				for i := range j {
					f.column(j)[i] = r.NormFloat64()
				}
				// well conditioned, so that every σ is well determined
				f.column(j)[j] = math.Sqrt(float64(k)) * (1 + r.Float64())
				f.scale(j, math.Pow(10, -decades*float64(j)/float64(k)))
			}
			x.r, x.t, x.tally = append(x.r, f), append(x.t, zeros(k, k)), append(x.tally, kernels.Tally{})
		}
	}
	return x, order
}

// jacobiSigmaTest compares singular values.
func jacobiSigmaTest(device, reference kernels.Backend) (float64, error) {
	x, order := factors(device, reference)
	got, want, err := x.onBoth(device, reference, func(be kernels.Backend, b *kernels.Batch) error {
		return sweeps(be, order, toConvergence)(b)
	})
	if err != nil {
		return 0, err
	}
	var w worst
	for i := range x.r {
		sigma, reference := got.r[i].norms(), want.r[i].norms()
		slices.Sort(sigma)
		slices.Sort(reference)
		for j, s := range reference {
			w.add(abs(sigma[j]-s), 40*float64(len(sigma))*kernels.UnitRoundoff*s)
		}
	}
	return float64(w), nil
}

// jacobiTTest takes the departure of T from orthogonality.
func jacobiTTest(device, reference kernels.Backend) (float64, error) {
	x, order := factors(device, reference)
	got, err := x.on(device, sweeps(device, order, toConvergence))
	if err != nil {
		return 0, err
	}
	var w worst
	for _, t := range got.t {
		g := t.gram(nil)
		for i, v := range identity(t.n).a {
			w.add(abs(g.a[i]-v), 16*math.Sqrt(float64(t.n))*kernels.UnitRoundoff)
		}
	}
	return float64(w), nil
}
