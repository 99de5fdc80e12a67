package cuda

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
		{"V", n.v, len(b.V)}, {"R", n.r, len(b.R)}, {"T", n.t, len(b.T)}, {"Tally", n.tally, len(b.Tally)},
	} {
		if s.needed && s.length != problems {
			return fmt.Errorf("%w: %d problems, but %s has %d", kernels.ErrShape, problems, s.name, s.length)
		}
	}
	for i := range problems {
		if err := checkProblem(b, i, n); err != nil {
			return fmt.Errorf("problem %d: %w", i, err)
		}
	}
	return nil
}

// checkProblem compares the shapes of problem i with the order of its pivot, or of its factor where there is no pivot.
func checkProblem(b *kernels.Batch, i int, n needs) error {
	var k int
	if n.g {
		k = b.G[i].Order()
		if err := checkPivot("G", b.G[i], k); err != nil {
			return err
		}
	} else {
		k = b.R[i].N
	}
	if n.v {
		if err := checkPivot("V", b.V[i], k); err != nil {
			return err
		}
	}
	if n.r {
		if err := checkFactor("R", b.R[i], k); err != nil {
			return err
		}
	}
	if n.t {
		return checkFactor("T", b.T[i], k)
	}
	return nil
}

func checkPivot(name string, g kernels.Pivot, k int) error {
	if err := checkPanel(name+".P", g.P); err != nil {
		return err
	}
	if err := checkPanel(name+".Q", g.Q); err != nil {
		return err
	}
	if g.P.M != g.Q.M || g.Order() != k {
		return fmt.Errorf("%w: %s is [%d×%d %d×%d], must have equal rows and %d columns",
			kernels.ErrShape, name, g.P.M, g.P.N, g.Q.M, g.Q.N, k)
	}
	return nil
}

func checkFactor(name string, p kernels.Panel, k int) error {
	if err := checkPanel(name, p); err != nil {
		return err
	}
	if p.M != k || p.N != k {
		return fmt.Errorf("%w: %s is %d×%d, must be %d×%d", kernels.ErrShape, name, p.M, p.N, k, k)
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
