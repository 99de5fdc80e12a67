package kerneltest

import (
	"errors"
	"testing"

	"jmpi/kernels"
)

// Beside tests what is called beside all else.
func Beside(t *testing.T, d kernels.Backend) {
	t.Run("order", func(t *testing.T) { besideOrder(t, d) })
	t.Run("reflectors", func(t *testing.T) { besideReflectors(t, d) })
	fault := errors.New("a fault")
	if _, err := d.Beside(func() error { return fault }); !errors.Is(err, fault) {
		t.Errorf("the error of what is called beside is %v", err)
	}
}

// besideOrder: what is called comes behind its marks, in its order, and what follows its mark comes behind
// it. Lists of numbers of both arrive as they were in the call.
func besideOrder(t *testing.T, d kernels.Backend) {
	const m, n, rounds, times = 2000, 60, 6, 40
	ones := newMatrix(m, n)
	for i := range ones.a {
		ones.a[i] = 1
	}
	source, sum, other := upload(t, d, ones), upload(t, d, newMatrix(m, n)), upload(t, d, ones)
	work, square := upload(t, d, random(newRand(1), m, 5*n)), upload(t, d, newMatrix(5*n, 5*n))
	factors, want := make([]float64, m), 0.0
	scale := func(x kernels.Panel, f float64) {
		for i := range factors {
			factors[i] = f
		}
		must(t, d.Scale(x, factors, nil))
	}
	for k := range rounds {
		for range 4 { // so that the source is late
			must(t, d.Gemm([]kernels.Gemm{{TransA: true, Alpha: 1, A: work.Panel, B: work.Panel, C: square.Panel}}))
		}
		must(t, d.Ldexp(source.Panel, 1))
		ready, err := d.Mark()
		must(t, err)
		var inner kernels.Mark
		done, err := d.Beside(func() error {
			for i := range times { // more numbers than there is room for at a time
				scale(sum.Panel, []float64{4, 0.25}[i%2])
			}
			must(t, d.Add(sum.Panel, source.Panel))
			inner, err = d.Mark()
			return err
		}, ready)
		must(t, err)
		for i := range times {
			scale(other.Panel, []float64{0.5, 2}[i%2])
		}
		must(t, d.Follow([]kernels.Mark{inner, done}[k%2]))
		must(t, d.Ldexp(sum.Panel, 1))
		want = 2 * (want + float64(int(2)<<k))
	}
	for _, x := range []struct {
		panel
		want float64
	}{{sum, want}, {other, 1}} {
		all := newMatrix(m, n)
		for i := range all.a {
			all.a[i] = x.want
		}
		equal(t, x.download(), all)
	}
}

// besideReflectors: reflectors of a block are applied to columns beside others to others, with the bits of
// one after the other.
func besideReflectors(t *testing.T, d kernels.Backend) {
	const m, k, rounds = 1100, 3 * kernels.PanelWidth, 5
	rnd := newRand(2)
	type columns struct {
		q       kernels.Reflectors
		x, y    panel
		flipped bool
	}
	var parts [2]columns
	for i := range parts {
		y, tr := reflectors(rnd, m, k)
		x := random(rnd, m, 700-200*i)
		parts[i] = columns{placeReflectors(t, d, y, tr), upload(t, d, x), upload(t, d, x), i > 0}
	}
	reflect := func(c columns, p panel) func() error {
		return func() error { return d.Reflect(c.q, !c.flipped, []kernels.Panel{p.Panel}, p.N) }
	}
	for range rounds {
		for _, c := range parts {
			must(t, reflect(c, c.x)())
		}
	}
	for range rounds {
		must(t, reflect(parts[0], parts[0].y)())
		_, err := d.Beside(reflect(parts[1], parts[1].y))
		must(t, err)
	}
	must(t, d.Sync())
	for _, c := range parts {
		equal(t, c.y.download(), c.x.download())
	}
}
