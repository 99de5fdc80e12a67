package cpu

import (
	"fmt"

	"jmpi/kernels"
)

// needs says which parts of a batch a primitive uses.
type needs struct{ g, v, r, t, tally bool }

// checkBatch tells whether the batch has all that is needed, in shapes that fit.
func checkBatch(b *kernels.Batch, n needs) error {
	problems := len(b.R)
	if n.g {
		problems = len(b.G)
	}
	for _, s := range []struct {
		name   string
		needed bool
		length int
	}{
		{"G", n.g, len(b.G)}, {"V", n.v && b.V != nil, len(b.V)}, {"R", n.r, len(b.R)}, {"T", n.t, len(b.T)},
		{"Tally", n.tally, len(b.Tally)},
	} {
		if s.needed && s.length != problems {
			return fmt.Errorf("%w: %d problems, but %s has %d", kernels.ErrShape, problems, s.name, s.length)
		}
	}
	for i := range problems {
		k := -1
		if n.g {
			k = b.G[i].Order()
		}
		check := func(name string, p kernels.Panel, m, n int) error {
			if p.M != m || p.N != n || p.Ld < p.M {
				return fmt.Errorf("%w: problem %d: %s is %d×%d with Ld %d, must be %d×%d", kernels.ErrShape, i, name, p.M, p.N, p.Ld, m, n)
			}
			return nil
		}
		pivot := func(name string, p kernels.Pivot) error {
			if err := check(name+".P", p.P, p.P.M, p.P.N); err != nil {
				return err
			}
			if err := check(name+".Q", p.Q, p.P.M, p.Q.N); err != nil {
				return err
			}
			if p.Order() != k {
				return fmt.Errorf("%w: problem %d: %s has %d columns, G has %d", kernels.ErrShape, i, name, p.Order(), k)
			}
			return nil
		}
		var err error
		if n.g {
			err = pivot("G", b.G[i])
		}
		if err == nil && n.v && b.V != nil {
			err = pivot("V", b.V[i])
		}
		if k < 0 && n.r {
			k = b.R[i].N
		}
		if err == nil && n.r {
			err = check("R", b.R[i], k, k)
		}
		if err == nil && n.t {
			err = check("T", b.T[i], k, k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkPanel tells whether p is a possible panel.
func checkPanel(name string, p kernels.Panel) error {
	if p.M < 0 || p.N < 0 || p.Ld < p.M {
		return fmt.Errorf("%w: %s is %d×%d with Ld %d", kernels.ErrShape, name, p.M, p.N, p.Ld)
	}
	return nil
}
