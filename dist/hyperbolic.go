package dist

import (
	"fmt"
	"math"
	"slices"
)

// partition finds the order of the columns in which those with sign +1 come first.
func (d *Decomposition) partition() {
	t := &d.task
	t.Positive = t.N
	if t.Signs == nil {
		return
	}
	var plus, minus []int
	for j, x := range t.Signs {
		if x > 0 {
			plus = append(plus, j)
		} else {
			minus = append(minus, j)
		}
	}
	t.Positive = len(plus)
	if t.rising = t.Positive == 0; t.rising {
		t.Positive = t.N // the SVD, in the other order
	}
	if d.order = append(plus, minus...); slices.IsSorted(d.order) {
		d.order = nil
	}
}

// hyperbolic tells whether there are both signs.
func (d *Decomposition) hyperbolic() bool { return d.task.Positive < d.task.N }

// load reads columns of the partitioned matrix, in runs that are neighbours in A.
func (d *Decomposition) load(j0, j1 int, x []float64) error {
	if d.order == nil {
		return d.task.Load(j0, j1, x)
	}
	m := d.task.M
	for a := j0; a < j1; {
		b := a + 1
		for b < j1 && d.order[b] == d.order[b-1]+1 {
			b++
		}
		if err := d.task.Load(d.order[a], d.order[a]+b-a, x[(a-j0)*m:(b-j0)*m]); err != nil {
			return err
		}
		a = b
	}
	return nil
}

// preconditionHyperbolic replaces the matrix by its triangular factor.
func (d *Decomposition) preconditionHyperbolic(g grading) (err error) {
	p := &d.pre
	p.sorted = decreasing(g.rows)
	d.a = d.a.rows(p.sorted)
	if p.q, _, err = d.a.factor(d.a.natural()); err != nil {
		return err
	}
	m, noise := d.a.m, d.noise
	d.a = d.a.rows(d.a.natural()) // as many rows as columns
	d.noise = nil
	for k, i := range p.sorted[:d.a.m] { // the errors of the rows that are gone are in those that are left
		d.noise = append(d.noise, noise[i]*math.Sqrt(float64(m-k)/float64(d.a.m-k)))
	}
	return nil
}

// exists tells, as an error, if the hyperbolic SVD does not exist, that is, if A·J·Aᵀ, with the eigenvalues ±σ², has a lower rank than A: columns
// that the method could not make J-orthogonal have cancelled each other, to zero or to √ε and somewhat more. Small σ² are no reason as long as A has full rank.
func (d *Decomposition) exists() error {
	g, err := d.a.grading()
	if err != nil {
		return err
	}
	n, indefinite := d.task.N, 0 // the rank of A·J·Aᵀ
	d.Rank = Rank{Value: n, Tol: float64(n) * 0x1p-52, Of: "the squares of sigma against that of the largest norm of a column"}
	least := 10 * math.Sqrt(d.Rank.Tol) * slices.Max(g.columns)
	for _, x := range d.Solution.Sigma {
		if x > least {
			indefinite++
		}
	}
	if indefinite == n {
		return nil
	}
	sorted := decreasing(g.rows)
	d.a = d.a.rows(sorted)
	_, place, err := d.a.factor(nil)
	if err != nil {
		return err
	}
	// What speaks against the decomposition must be well above the rounding errors, which have few directions in a matrix of small integers.
	for i := range d.noise {
		d.noise[i] *= 64
	}
	if d.Rank, err = d.a.rank(d.noise, g.columns, sorted, place); err != nil {
		return err
	}
	if d.Rank.Value < n && indefinite < d.Rank.Value {
		return &Failure{Kind: NoDecomposition, Text: fmt.Sprintf("the matrix has no hyperbolic singular value decomposition with this signature: "+
			"A has rank %d, but A·J·Aᵀ rank %d only; there are combinations of columns of different signs that are equal", d.Rank.Value, indefinite)}
	}
	return nil
}
