package dist

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"jmpi/kernels"
)

// Task says which decomposition to compute, A = U·diag(σ)·Vᵀ, and how. Except Load and Rows it must be the same on every rank. Of
// Config, M×N is the shape of A, M ≥ N; Vectors is not used.
type Task struct {
	Config
	Left, Right  bool   // whether U, V are wanted
	RightLeads   bool   // the signs are such that in each column of V, not of U, the entry of largest magnitude is positive
	Precondition string // auto, none, qr, qrcp or qrcp-lq
	// Signs of the columns, ±1, for the hyperbolic SVD: UᵀU = I, Vᵀ·diag(Signs)·V = J = diag(I_P, −I), σ is non-increasing over the P
	// columns with +1 and non-decreasing over the others. nil: the SVD. V is accumulated, and the preconditioners are none and qr.
	Signs   []float64
	V       string       // how V of the Jacobi method is found: auto, accumulate or solve
	Threads int          // of this rank, for what the host computes
	Memory  func() int64 // bytes that the host of this rank can still give, 0 if that is not known; may be nil

	// Rows writes rows i0 ≤ i < i1 of A to dst, row-major with leading dimension N; nil: A is read by columns alone.
	Rows func(i0, i1 int, dst []float64) error
}

// Choice is what was used where a Task leaves it open, and why.
type Choice struct {
	Used string `json:"used"`
	Why  string `json:"why"`
}

// Rank is the numerical rank of A.
type Rank struct {
	Value int     `json:"value"`
	Tol   float64 `json:"tol"`
	Of    string  `json:"of"` // what is compared with Tol
}

// Decomposition is a finished Task. Its vectors lie on the devices or in the memory of the hosts, spread over all ranks.
type Decomposition struct {
	*Solution                 // of the matrix that the Jacobi method has worked on
	Sigma           []float64 // of A, non-increasing, the same on every rank
	Precondition, V Choice
	Residual        float64 // ‖A − U·diag(σ)·Vᵀ‖_F/(‖A‖_F·N·ε) by the triangular factor that V comes from; 0 if V was accumulated
	Rank            Rank
	Seconds         float64            // from the matrix in memory, of the hosts and then of the devices, to its decomposition
	Host            map[string]float64 // seconds of what was done before and after the Jacobi method, by name

	comm     Comm
	devices  []kernels.Backend
	task     Task
	exponent int    // the sheet holds 2^-exponent·A
	slabs    *slabs // of a tall matrix, nil otherwise
	a        *sheet // the matrix, then what takes its place
	pre      preconditioner
	noise    []float64                  // of each row of a: to what its elements are known, in units of ε
	order    []int                      // column j of what is worked on is column order[j] of A, so that those with sign +1 come first; nil: they do
	wants    struct{ left, right bool } // vectors of A that are needed, be it for the signs of others
	needs    struct{ left, right bool } // of the matrix that the Jacobi method works on
	u, v     *sheet                     // nil where they are not needed, or still on the devices
	direct   bool                       // the vectors are read from the devices
}

// Decompose computes the singular value decomposition of a matrix: it is read and scaled, made triangular and graded where that serves
// (preconditioned), and goes through the Jacobi method (Solve); V is formed if it was not accumulated, and what was done before is
// applied to the vectors. It is collective, and its errors are as those of Solve.
func Decompose(ctx context.Context, comm Comm, devices []kernels.Backend, t Task) (*Decomposition, error) {
	d := &Decomposition{comm: comm, devices: devices, task: t, Host: map[string]float64{}}
	d.wants.left = t.Left || t.Right && !t.RightLeads
	d.wants.right = t.Right || t.Left && t.RightLeads
	d.partition()
	if err := d.fitsUnread(); err != nil {
		return d, err
	}
	if err := d.read(); err != nil {
		return d, err
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"precondition", d.precondition},
		{"", func() error { return d.iterate(ctx) }},
		{"vectors", func() error { return d.vectors(ctx) }},
	} {
		begin := time.Now()
		if err := step.do(); err != nil {
			return d, err
		}
		if step.name != "" {
			d.Host[step.name] = time.Since(begin).Seconds()
		}
	}
	d.Seconds = d.Host["precondition"] + d.Solution.Seconds + d.Host["vectors"]
	return d, nil
}

// Free gives the memory on the devices back.
func (d *Decomposition) Free() {
	if d.Solution != nil {
		d.Solution.Free()
	}
}

// top is the exponent that the largest entry gets, so that the squares of what is 2⁻⁸⁵⁰ of it are still in the normal range, and sums of squares
// of the largest far from overflow.
const top = 400

// read brings the matrix into the memory of the hosts, scaled by a power of two: tall matrices as their triangular factor.
func (d *Decomposition) read() error {
	if d.tall() {
		if graded, err := d.readTall(); err != nil || !graded {
			return err
		}
	}
	t := d.task
	d.a = newSheet(d.comm, d.task.Threads, t.M, t.N)
	var err error
	largest := 0.0
	for b := range d.a.blocks() {
		x := d.a.own[b]
		if x == nil {
			continue
		}
		j0, j1 := d.a.span(b)
		if err = d.load(j0, j1, x); err != nil {
			break
		}
		for _, e := range x {
			largest = max(largest, math.Abs(e))
		}
	}
	if err := Agree(d.comm, BadInput, err); err != nil {
		return err
	}
	if d.exponent, err = commonExponent(d.comm, largest); err != nil {
		return err
	}
	return d.a.each(func(_ int, x []float64) error {
		scale(x, -d.exponent)
		return nil
	})
}

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

// commonExponent returns e such that 2^-e brings the largest of the magnitudes given by all ranks to [2^(top−1), 2^top), 0 if all are
// zero. Powers of two are compared, not the numbers: an integer maximum does not depend on the order of the ranks.
func commonExponent(c Comm, largest float64) (int, error) {
	x := []int64{math.MinInt64}
	if largest > 0 {
		_, e := math.Frexp(largest)
		x[0] = int64(e)
	}
	if err := c.AllreduceMax(x); err != nil {
		return 0, fmt.Errorf("dist: scale: %w", err)
	}
	if x[0] == math.MinInt64 {
		return 0, nil
	}
	return int(x[0]) - top, nil
}

// iterate runs the Jacobi method on what preconditioning has left.
func (d *Decomposition) iterate(ctx context.Context) error {
	if err := d.solve(ctx); err != nil {
		return err
	}
	if err := d.values(); err != nil || !d.hyperbolic() {
		return err
	}
	return d.exists()
}

// exists tells, as an error, if the hyperbolic SVD does not exist, that is, if A·J·Aᵀ, with the eigenvalues ±σ², has a lower rank than A: columns
// that the method could not make J-orthogonal have cancelled each other, to zero or to √ε. Small σ² are no reason as long as A has full rank.
func (d *Decomposition) exists() error {
	n, indefinite := d.task.N, 0 // the rank of A·J·Aᵀ
	d.Rank = Rank{Value: n, Tol: float64(n) * 0x1p-52, Of: "the squares of sigma against the largest"}
	least := math.Sqrt(d.Rank.Tol) * slices.Max(d.Sigma)
	for _, x := range d.Sigma {
		if x > least {
			indefinite++
		}
	}
	if indefinite == n {
		return nil
	}
	g, err := d.a.grading()
	if err != nil {
		return err
	}
	sorted := decreasing(g.rows)
	d.a = d.a.rows(sorted)
	_, place, err := d.a.factor(nil)
	if err != nil {
		return err
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

// solve gives the matrix to the devices.
func (d *Decomposition) solve(ctx context.Context) (err error) {
	c := d.task.Config
	c.M, c.N, c.Vectors = d.a.m, d.a.n, d.V.Used == "accumulate"
	c.source = d.a
	c.keepSource = d.V.Used == "solve" && d.pre.kept == nil || d.hyperbolic() // for rightVectors, exists
	d.Solution, err = Solve(ctx, d.comm, d.devices, c)
	return err
}

// values scales the singular values back, and finds the rank where no pivoted factorization has told it.
func (d *Decomposition) values() error {
	d.Sigma = append([]float64(nil), d.Solution.Sigma...)
	scale(d.Sigma, d.exponent)
	if slices.Max(d.Sigma) > math.MaxFloat64 { // every rank has the same
		return &Failure{Kind: BadInput, Text: fmt.Sprintf("the largest singular value exceeds the range of float64; divide the matrix by 2^%d", d.exponent+top-1000)}
	}
	if d.Rank.Of != "" || d.hyperbolic() {
		return nil
	}
	d.Rank = Rank{Tol: float64(d.task.N) * 0x1p-52, Of: "sigma against the largest"}
	for _, x := range d.Sigma {
		if x > d.Rank.Tol*slices.Max(d.Sigma) {
			d.Rank.Value++
		}
	}
	return nil
}

// chooseV decides how the right singular vectors of the preconditioned matrix are found.
func (d *Decomposition) chooseV() {
	d.needs.left, d.needs.right = d.wants.left, d.wants.right
	if d.pre.transposed {
		d.needs.left, d.needs.right = d.wants.right, d.wants.left
	}
	switch {
	case !d.needs.right:
		d.V = Choice{"none", "not needed for the vectors that are wanted"}
	case d.hyperbolic():
		d.V = Choice{"accumulate", "the only way for the hyperbolic SVD"}
	case d.task.V != "auto" && d.task.V != "":
		d.V = Choice{d.task.V, "as asked for"}
	case !d.devices[0].Limits().HostMemory:
		d.V = Choice{"accumulate", "the products at the end would run on the hosts, and GPUs are faster"}
	case d.pre.graded:
		d.V = Choice{"accumulate", "the matrix is graded: so the vectors of small singular values are accurate too"}
	default:
		d.V = Choice{"solve", "faster, and as small a residual"}
	}
}

// residualLimit is the largest residual of right vectors that were not accumulated, relative to ε·N·‖A‖_F as the check has it.
var residualLimit = 1.0

// vectors forms the singular vectors that are needed in the memory of the hosts, unless they can be read from the devices.
func (d *Decomposition) vectors(ctx context.Context) error {
	switch {
	case !d.wants.left && !d.wants.right:
		return nil
	case d.pre.used == "none" && d.V.Used != "solve" && d.slabs == nil:
		d.direct = true
		return nil
	}
	u, v, err := d.collect(ctx)
	if err != nil {
		return err
	}
	d.a = nil
	if d.u, d.v, err = d.pre.back(u, v, d.wants.left, d.wants.right); err != nil {
		return err
	}
	if d.wants.right {
		d.v = d.v.rows(inverse(d.order))
	}
	if d.slabs == nil {
		return nil
	}
	if d.wants.left {
		err = d.slabs.expand(d.u)
	}
	return err
}

// collect returns the vectors of the matrix that the Jacobi method has worked on. Where right vectors that were not accumulated do not
// serve, the method is run again.
func (d *Decomposition) collect(ctx context.Context) (u, v *sheet, err error) {
	if u, v, err = d.Solution.collect(d.task.Threads); err != nil {
		return nil, nil, err
	}
	d.Solution.Free()
	if d.V.Used != "solve" {
		return u, v, nil
	}
	if v, d.Residual, err = d.rightVectors(u); err != nil || d.Residual <= residualLimit {
		return u, v, err
	}
	if kept := d.pre.kept; kept != nil {
		d.pre.kept = nil
		if d.pre.second, err = d.lower(kept); err != nil {
			return nil, nil, err
		}
	}
	d.V = Choice{"accumulate", fmt.Sprintf("the vectors formed at the end left a residual of %.2g", d.Residual)}
	d.Residual = 0
	if err := d.solve(ctx); err != nil {
		return nil, nil, err
	}
	u, v, err = d.Solution.collect(d.task.Threads)
	d.Solution.Free()
	return u, v, err
}

// rightVectors forms V of what the Jacobi method has worked on, or of R where that spares a product.
func (d *Decomposition) rightVectors(u *sheet) (*sheet, float64, error) {
	var w *sheet
	var err error
	if d.pre.kept != nil {
		w, err = lowerProduct(d.pre.kept, u)
	} else {
		w, err = transposedProduct(d.a, u)
	}
	if err != nil {
		return nil, 0, err
	}
	return rightVectors(w, d.Solution.Sigma)
}

// PhaseSeconds returns the seconds of this rank in each phase: those of the Jacobi method summed over its devices, and those of the host.
func (d *Decomposition) PhaseSeconds() map[string]float64 {
	phases := d.Solution.PhaseSeconds()
	for name, seconds := range d.Host {
		phases[name] = seconds
	}
	return phases
}
