package kernels

import "fmt"

// What the primitives of Dense ask of their panels. A back end asks before it follows an address. All errors
// wrap ErrShape.

// CheckConvert tells whether src can be converted to dst: the shapes are the same.
func CheckConvert(dst, src Panel) error {
	if err := checkAny(dst, "dst", src, "src"); err != nil {
		return err
	}
	if dst.M != src.M || dst.N != src.N {
		return fmt.Errorf("%w: dst is %d×%d, src %d×%d", ErrShape, dst.M, dst.N, src.M, src.N)
	}
	return nil
}

// CheckCopy tells whether src can be copied to dst as it is: the shapes and the element types are the same.
func CheckCopy(dst, src Panel) error {
	if err := CheckConvert(dst, src); err != nil {
		return err
	}
	if dst.Type != src.Type {
		return fmt.Errorf("%w: dst is of %s, src of %s", ErrShape, dst.Type, src.Type)
	}
	return nil
}

// CheckBring tells whether each src can be copied to the dst of the same number as it is.
func CheckBring(dst, src []Panel) error {
	if len(dst) != len(src) {
		return fmt.Errorf("%w: %d panels for copies of %d", ErrShape, len(dst), len(src))
	}
	for k := range dst {
		if err := CheckCopy(dst[k], src[k]); err != nil {
			return fmt.Errorf("copy %d: %w", k, err)
		}
	}
	return nil
}

// CheckAdd tells whether src can be added to dst: the shapes are the same.
func CheckAdd(dst, src Panel) error {
	if err := checkFloat64(dst, "dst", src, "src"); err != nil {
		return err
	}
	return CheckConvert(dst, src)
}

// CheckTranspose tells whether each dst has the shape of its srcᵀ.
func CheckTranspose(dst, src []Panel) error {
	if len(dst) != len(src) {
		return fmt.Errorf("%w: %d panels for the transposes of %d", ErrShape, len(dst), len(src))
	}
	for k, to := range dst {
		from := src[k]
		if err := checkFloat64(to, "dst", from, "src"); err != nil {
			return err
		}
		if to.M != from.N || to.N != from.M {
			return fmt.Errorf("%w: dst is %d×%d, src %d×%d", ErrShape, to.M, to.N, from.M, from.N)
		}
	}
	return nil
}

// CheckGather tells whether the rows from[i] of src can be those of dst.
func CheckGather(dst, src Panel, from []int) error {
	if err := checkFloat64(dst, "dst", src, "src"); err != nil {
		return err
	}
	if dst.N != src.N || len(from) != dst.M {
		return fmt.Errorf("%w: %d rows of src, %d×%d, for dst, %d×%d", ErrShape, len(from), src.M, src.N, dst.M,
			dst.N)
	}
	for i, l := range from {
		if l >= src.M {
			return fmt.Errorf("%w: row %d is to be row %d of src, %d×%d", ErrShape, i, l, src.M, src.N)
		}
	}
	return nil
}

// CheckMove tells whether the columns from[k] of src can be the columns to[k] of dst.
func CheckMove(dst Panel, to []int, src Panel, from []int) error {
	if err := checkAny(dst, "dst", src, "src"); err != nil {
		return err
	}
	if dst.M != src.M || len(to) != len(from) {
		return fmt.Errorf("%w: %d columns of src, %d×%d, for %d columns of dst, %d×%d", ErrShape, len(from), src.M,
			src.N, len(to), dst.M, dst.N)
	}
	written := make([]bool, dst.N)
	for k := range to {
		if from[k] < 0 || from[k] >= src.N || to[k] < 0 || to[k] >= dst.N || written[to[k]] {
			return fmt.Errorf("%w: column %d of src, %d×%d, for column %d of dst, %d×%d, once", ErrShape, from[k],
				src.M, src.N, to[k], dst.M, dst.N)
		}
		written[to[k]] = true
	}
	return nil
}

// CheckFactors tells whether there is a number for each row of p, and one for each column, or nil.
func (p Panel) CheckFactors(rows, columns []float64) error {
	if err := p.Check("panel"); err != nil {
		return err
	}
	if rows != nil && len(rows) != p.M || columns != nil && len(columns) != p.N {
		return fmt.Errorf("%w: %d numbers for rows and %d for columns, the panel is %d×%d", ErrShape, len(rows),
			len(columns), p.M, p.N)
	}
	return nil
}

// CheckList tells whether all panels are possible ones of float64.
func CheckList(list []Panel) error {
	for i, p := range list {
		if err := p.Check(fmt.Sprintf("panel %d", i)); err != nil {
			return err
		}
	}
	return nil
}

// CheckAngles tells whether the panels are columns, from those numbers on, of a square matrix with so many
// norms, and whether there are as many limits as there may be.
func CheckAngles(h []Panel, first []int, norms []float64, o AngleOptions) error {
	if err := CheckList(h); err != nil {
		return err
	}
	if n := len(o.Limits); n < 1 || n > MaxLimits {
		return fmt.Errorf("%w: %d limits, not 1 to %d", ErrShape, n, MaxLimits)
	}
	if len(first) != len(h) {
		return fmt.Errorf("%w: %d panels, and %d numbers of their first columns", ErrShape, len(h), len(first))
	}
	for k, p := range h {
		if p.M != len(norms) || first[k] < 0 || first[k]+p.N > len(norms) {
			return fmt.Errorf("%w: panel %d is %d×%d, with the columns from %d on of a matrix with %d norms", ErrShape,
				k, p.M, p.N, first[k], len(norms))
		}
	}
	return nil
}

// Inner returns the number of terms of a sum of the product.
func (g Gemm) Inner() int {
	if g.TransA {
		return g.A.M
	}
	return g.A.N
}

// CheckGemm tells whether the panels of all products fit together.
func CheckGemm(products []Gemm) error {
	for i, g := range products {
		if err := g.check(); err != nil {
			return fmt.Errorf("product %d: %w", i, err)
		}
	}
	return nil
}

func (g Gemm) check() error {
	err := checkAlike(g.A, "A", g.B, "B")
	if err == nil {
		err = checkAlike(g.A, "A", g.C, "C")
	}
	if err != nil {
		return err
	}
	m, n, inner := g.A.M, g.B.N, g.B.M
	if g.TransA {
		m = g.A.N
	}
	if g.TransB {
		n, inner = g.B.M, g.B.N
	}
	if g.C.M != m || g.C.N != n || g.Inner() != inner {
		return fmt.Errorf("%w: A is %d×%d, transposed %t, B %d×%d, transposed %t, C %d×%d", ErrShape, g.A.M, g.A.N,
			g.TransA, g.B.M, g.B.N, g.TransB, g.C.M, g.C.N)
	}
	if g.Of != 0 && (g.Of < g.C.N || g.TransB) {
		return fmt.Errorf("%w: C has %d of %d columns, B transposed %t", ErrShape, g.C.N, g.Of, g.TransB)
	}
	return nil
}

// CheckTurnColumns tells whether each q is square and has the columns of the a of the same number, which are
// not too many.
func CheckTurnColumns(a, q []Panel) error {
	if len(a) != len(q) {
		return fmt.Errorf("%w: %d panels A, and %d Q", ErrShape, len(a), len(q))
	}
	for i, x := range a {
		if err := x.Check(fmt.Sprintf("A %d", i)); err != nil {
			return err
		}
		if x.N > TurnWidth {
			return fmt.Errorf("%w: A %d is %d×%d, %d columns are the limit", ErrShape, i, x.M, x.N, TurnWidth)
		}
		if err := checkFactor(fmt.Sprintf("Q %d", i), q[i], x.N); err != nil {
			return err
		}
	}
	return nil
}

// CheckSyrk tells whether each c has the shape of the aᵀa of the same number.
func CheckSyrk(a, c []Panel) error {
	if len(a) != len(c) {
		return fmt.Errorf("%w: %d panels A, and %d C", ErrShape, len(a), len(c))
	}
	for i := range a {
		if err := checkAlike(a[i], "A", c[i], "C"); err != nil {
			return fmt.Errorf("product %d: %w", i, err)
		}
		if c[i].M != a[i].N || c[i].N != a[i].N {
			return fmt.Errorf("%w: product %d: C is %d×%d, A %d×%d", ErrShape, i, c[i].M, c[i].N, a[i].M, a[i].N)
		}
	}
	return nil
}

// CheckDepartures tells whether all panels are square.
func CheckDepartures(p []Panel) error {
	for i, x := range p {
		if err := checkFactor(fmt.Sprintf("panel %d", i), x, x.N); err != nil {
			return err
		}
	}
	return nil
}

// CheckPotrf tells whether a is square.
func CheckPotrf(a Panel) error { return checkFactor("A", a, a.N) }

// CheckTrsm tells whether r is square and has the columns of each b.
func CheckTrsm(b []Panel, r Panel) error {
	if err := r.CheckAny("R"); err != nil {
		return err
	}
	for i, x := range b {
		if err := checkAlike(x, fmt.Sprintf("B %d", i), r, "R"); err != nil {
			return err
		}
		if r.M != x.N || r.N != x.N {
			return fmt.Errorf("%w: R is %d×%d, B %d %d×%d", ErrShape, r.M, r.N, i, x.M, x.N)
		}
	}
	return nil
}

// CheckFactorPanel tells whether the reflectors and the factor of a have room in q and r.
func CheckFactorPanel(a Panel, q Reflectors, r Panel) error {
	if err := q.checkFor(a, PanelWidth); err != nil {
		return err
	}
	return checkFactor("R", r, min(a.M, a.N))
}

// CheckFactorPivoted tells whether the reflectors and the factor of a have room in q and r, and whether the
// noise is that of a.
func CheckFactorPivoted(a Panel, q Reflectors, r Panel, o PanelOptions) error {
	k := min(a.M, a.N)
	err := q.checkFor(a, PivotedWidth)
	if err == nil {
		err = checkFactor("R", r, k)
	}
	if err != nil || o.Noise == nil {
		return err
	}
	bounds := o.Noise.Bounds()
	width := (bounds + 1) * Samples
	for _, x := range []struct {
		name string
		Panel
		m, n int
	}{{"rows", o.Noise.Rows, a.M, max(bounds, 1)}, {"samples", o.Noise.Samples, width, a.N},
		{"ratios", o.Noise.Ratios, width, k}} {
		if err := checkPanel(x.name+" of the noise", x.Panel, Float64, x.m, x.n); err != nil {
			return err
		}
	}
	return nil
}

// checkFor tells whether q can take the reflectors of a panel of at most so many columns.
func (q Reflectors) checkFor(a Panel, width int) error {
	if err := a.Check("A"); err != nil {
		return err
	}
	if a.N > width {
		return fmt.Errorf("%w: A is %d×%d, %d columns are the limit", ErrShape, a.M, a.N, width)
	}
	if err := q.check(); err != nil {
		return err
	}
	if q.Y.M != a.M || q.Y.N != min(a.M, a.N) {
		return fmt.Errorf("%w: Y is %d×%d, A %d×%d", ErrShape, q.Y.M, q.Y.N, a.M, a.N)
	}
	return nil
}

// Check tells whether Y and T fit together, and whether they can be applied to all of c.
func (q Reflectors) Check(c []Panel, of int) error {
	if err := q.check(); err != nil {
		return err
	}
	columns := 0
	for i, x := range c {
		if err := x.Check(fmt.Sprintf("C %d", i)); err != nil {
			return err
		}
		if x.M != q.Y.M {
			return fmt.Errorf("%w: C %d is %d×%d, Y %d×%d", ErrShape, i, x.M, x.N, q.Y.M, q.Y.N)
		}
		columns += x.N
	}
	if of != 0 && of < columns {
		return fmt.Errorf("%w: the panels have %d of %d columns", ErrShape, columns, of)
	}
	return nil
}

func (q Reflectors) check() error {
	if err := q.Y.Check("Y"); err != nil {
		return err
	}
	if q.Y.N > q.Y.M {
		return fmt.Errorf("%w: Y is %d×%d, which are more reflectors than rows", ErrShape, q.Y.M, q.Y.N)
	}
	return checkFactor("T", q.T, q.Y.N)
}

// checkAny tells whether x and y are possible panels.
func checkAny(x Panel, xName string, y Panel, yName string) error {
	if err := x.CheckAny(xName); err != nil {
		return err
	}
	return y.CheckAny(yName)
}

// checkAlike tells whether x and y are possible panels of the same element type.
func checkAlike(x Panel, xName string, y Panel, yName string) error {
	if x.Type != y.Type {
		return fmt.Errorf("%w: %s and %s differ in the type of their elements", ErrShape, xName, yName)
	}
	return checkAny(x, xName, y, yName)
}

// checkFloat64 tells whether x and y are possible panels of float64.
func checkFloat64(x Panel, xName string, y Panel, yName string) error {
	if err := x.Check(xName); err != nil {
		return err
	}
	return y.Check(yName)
}
