package node

import (
	"errors"
	"fmt"
	"testing"

	"jmpi/kernels"
	"jmpi/strategy"

	"pgregory.net/rapid"
)

// watching is a back end that computes nothing and checks the batches of float32 that it is given.
type watching struct {
	idle
	levels []level
	err    error
	seen   [4]int // problems of each level
}

func (b *watching) Multiply(x *kernels.Batch) error {
	b.err = errors.Join(b.err, b.check(x))
	return nil
}

// check tells whether the norms of the columns of G are those of a slot, or the factors of R of the level
// above; and whether each problem has factors of its own, beside its R.
func (b *watching) check(x *kernels.Batch) error {
	if err := x.Check(kernels.Needs{G: true, V: true, R: true, T: true, Tally: true}); err != nil {
		return err
	}
	level := 0
	for x.R[0].Data < b.levels[level].r.Data || x.R[0].Data >= b.levels[level].t.Data {
		level++
	}
	b.seen[level] += len(x.G)
	l := b.levels[level]
	if x.Type != kernels.Float32 || x.Single.Cosine != 3e-6 || x.Single.Scaled != (level > 0) {
		return fmt.Errorf("level %d: %s, %+v", level, x.Type, x.Single)
	}
	for i := range x.G {
		at := int(x.R[i].Data-l.r.Data) / 4 / l.r.Ld // column
		if f := x.Single.Factors[i]; f.Data != l.factors.Data+kernels.Address(8*at) || at%l.order != 0 {
			return fmt.Errorf("level %d, problem %d: factors at %d, R is column %d", level, i, f.Data, at)
		}
		if level == 0 {
			continue
		}
		up := b.levels[level-1]
		for _, side := range [][3]kernels.Panel{{x.G[i].P, x.V[i].P, x.Single.Norms[i].P},
			{x.G[i].Q, x.V[i].Q, x.Single.Norms[i].Q}} {
			g, v := int(side[0].Data-up.r.Data)/4/up.r.Ld, int(side[1].Data-up.t.Data)/4/up.t.Ld
			if d := side[2]; v != g || d.Data != up.factors.Data+kernels.Address(8*g) {
				return fmt.Errorf("level %d, problem %d: norms at %d, G is column %d, V %d", level, i, d.Data, g, v)
			}
		}
	}
	return nil
}

// On every level batches of float32 have what Batch.Check asks for, and the norms of the right columns.
func TestBatchesOfSingle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 200).Draw(t, "n")
		c := Config{M: n + 3, Layout: NewLayout(n, 1, rapid.IntRange(2, 40).Draw(t, "width"), 0), Positive: n,
			Vectors: true, Strategy: "rev-rowcyc", Sweeps: 1, Precision: Precision{kernels.Float32, 3e-6}}
		for width := c.Layout.Width(); width > 1 && len(c.Widths) < 2 && rapid.Bool().Draw(t, "inner"); {
			width = rapid.IntRange(1, width-1).Draw(t, "inner width")
			c.Widths = append(c.Widths, width)
		}
		be := &watching{idle: idle{limits: kernels.Limits{PointwiseOrder: 2000, Tile: 64, Align: 8,
			Float32: kernels.Float32Limits{Pivots: true}}}}
		d, err := NewDevice(be, c)
		if err != nil {
			t.Fatal(err)
		}
		be.levels = d.rec.levels
		for s := range 2 {
			d.SetColumn(s, s)
			whole := d.Panels(s, s, 0, c.Layout.PerMacro)
			for i := range c.Layout.PerMacro {
				b := d.Panels(s, s, i, i+1)
				j := int(b.G.Data-whole.G.Data) / 4 / b.G.Ld
				if b.Norms.Data != whole.Norms.Data+kernels.Address(8*j) || b.Norms.Bytes() != int64(8*b.G.N) {
					t.Fatalf("block-column %d of slot %d: norms %+v of %+v, G from column %d", i, s, b.Norms, whole.Norms, j)
				}
			}
		}
		for p := range c.Layout.Columns / 2 {
			if err := d.Run(0, []strategy.Pair{{P: p, Q: p + c.Layout.Columns/2}}); err != nil {
				t.Fatal(err)
			}
		}
		if be.err != nil {
			t.Fatal(be.err)
		}
		for l := range be.levels {
			if be.seen[l] == 0 {
				t.Errorf("no problem of level %d", l)
			}
		}
	})
}

// What a device cannot do in float32 is refused in words.
func TestSingleIsRefused(t *testing.T) {
	good := Config{M: 9, Layout: NewLayout(8, 1, 2, 0), Positive: 8, Strategy: "rev-rowcyc", Sweeps: 1,
		Precision: Precision{kernels.Float32, 3e-6}}
	hyperbolic, sharp := good, good
	hyperbolic.Positive, sharp.Precision.Cosine = 5, 0
	for _, c := range []struct {
		c            Config
		single, fine bool
	}{{good, true, true}, {good, false, false}, {hyperbolic, true, false}, {sharp, true, false}} {
		be := &idle{limits: kernels.Limits{PointwiseOrder: 20, Tile: 4, Align: 1,
			Float32: kernels.Float32Limits{Pivots: c.single}}}
		if _, err := NewDevice(be, c.c); (err == nil) != c.fine || !c.fine && be.bytes > 0 {
			t.Errorf("single %t, %+v: error %v, %d bytes", c.single, c.c, err, be.bytes)
		}
	}
}
