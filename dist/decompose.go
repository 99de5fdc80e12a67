package dist

import (
	"context"
	"math"
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
	"jmpi/internal/dense"
	"jmpi/kernels"
)

// Task says which decomposition to compute, A = U·diag(σ)·Vᵀ, and how. Except Load and Rows it must be the same on every rank. Of
// Config, M×N is the shape of A, M ≥ N; Vectors is not used.
type Task struct {
	jacobi.Config
	Left, Right  bool   // whether U, V are wanted
	RightLeads   bool   // the signs are such that in each column of V, not of U, the entry of largest magnitude is positive
	Precondition string // auto, none, qr, qrcp or qrcp-lq
	// Signs of the columns, ±1, for the hyperbolic SVD: UᵀU = I, Vᵀ·diag(Signs)·V = J = diag(I_P, −I), σ is non-increasing over the P
	// columns with +1 and non-decreasing over the others. nil: the SVD. V is accumulated, and the preconditioners are none and qr.
	Signs   []float64
	V       string       // how V of the Jacobi method is found: auto, accumulate or solve
	Threads int          // of this rank, for what the host computes
	Memory  func() int64 // bytes that the host of this rank can still give, 0 if that is not known; may be nil
	// Room returns the bytes that this process can still take for matrices by a resource limit, and the limit's name, "" if there is none.
	// computing says that the threads which compute have started. It may be nil.
	Room func(computing bool) (bytes int64, limit string)

	// Rows writes rows i0 ≤ i < i1 of A to dst, row-major with leading dimension N; nil: A is read by columns alone.
	Rows func(i0, i1 int, dst []float64) error
}

// Choice is what was used where a Task leaves it open, and why.
type Choice struct {
	Used string `json:"used"`
	Why  string `json:"why"`
}

// Decomposition is a finished Task. Its vectors lie on the devices or in the memory of the hosts, spread over all ranks.
type Decomposition struct {
	*jacobi.Solution           // of the matrix that the Jacobi method has worked on
	Sigma            []float64 // of A, non-increasing, the same on every rank
	Precondition, V  Choice
	Residual         float64 // ‖A − U·diag(σ)·Vᵀ‖_F/(‖A‖_F·N·ε) by the triangular factor that V comes from; 0 if V was accumulated
	Rank             Rank
	Fidelity         *Fidelity          // of a hyperbolic SVD, nil otherwise
	Seconds          float64            // from the matrix in memory, of the hosts and then of the devices, to its decomposition
	Host             map[string]float64 // seconds of what was done before and after the Jacobi method, by name

	comm        comm.Comm
	devices     []kernels.Backend
	task        Task
	exponent    int            // the sheet holds 2^-exponent·A
	slabs       *matrix.Slabs  // of a tall matrix, nil otherwise
	orthonormal bool           // the matrix is part of one with orthonormal columns: all its elements have errors of the same size
	a           *matrix.Matrix // the matrix, then what takes its place
	deflated    *deflation     // of a hyperbolic SVD of lower rank, nil otherwise
	again       *vectorPair    // of a hyperbolic SVD from the second way, nil otherwise
	trusted     bool           // the rank is taken to be full until the decomposition is known
	pre         preconditioner
	order       []int // column j of what is worked on is column order[j] of A, so that those with sign +1 come first; nil: they do
	wants       sides
	u, v        *matrix.Matrix // nil where they are not needed, or still on the devices
	direct      bool           // the vectors are read from the devices
}

// Decompose computes the singular value decomposition of a matrix: it is read and scaled, made triangular and graded where that serves
// (preconditioned), and goes through the Jacobi method (Solve); V is formed if it was not accumulated, and what was done before is
// applied to the vectors. It is collective, and its errors are as those of Solve.
func Decompose(ctx context.Context, comm comm.Comm, devices []kernels.Backend, t Task) (*Decomposition, error) {
	d := &Decomposition{comm: comm, devices: devices, task: t, Host: map[string]float64{}}
	d.wants = t.needs()
	d.partition()
	if err := d.fitsUnread(); err != nil {
		return d, err
	}
	if err := d.read(); err != nil {
		return d, err
	}
	return d, d.work(ctx)
}

// work does everything from the scaled matrix in the memory of the hosts on.
func (d *Decomposition) work(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"precondition", func() error { return d.precondition(ctx) }},
		{"", func() error { return d.iterate(ctx) }},
		{"vectors", func() error { return d.vectors(ctx) }},
	} {
		begin := time.Now()
		if err := step.do(); err != nil {
			return err
		}
		if step.name != "" {
			d.Host[step.name] += time.Since(begin).Seconds()
		}
	}
	d.Seconds = d.Host["precondition"] + d.Solution.Seconds + d.Host["verify"] + d.Host["vectors"]
	return nil
}

// Free gives the memory on the devices back.
func (d *Decomposition) Free() {
	if d.Solution != nil {
		d.Solution.Free()
	}
}

// read brings the matrix into the memory of the hosts, scaled by a power of two: tall matrices as their triangular factor.
func (d *Decomposition) read() error {
	if d.tall() {
		if graded, err := d.readTall(); err != nil || !graded {
			return err
		}
	}
	t := d.task
	var err error
	d.a, err = matrix.Load(d.comm, d.task.Threads, t.M, t.N, d.load)
	if err := comm.Agree(d.comm, comm.BadInput, err); err != nil {
		return err
	}
	return d.scaled()
}

// scaled multiplies the matrix by a power of two so that its largest entry is in [2^(top−1), 2^top).
func (d *Decomposition) scaled() (err error) {
	largest := 0.0
	for _, x := range d.a.Own {
		for _, e := range x {
			largest = max(largest, math.Abs(e))
		}
	}
	if d.exponent, err = matrix.CommonExponent(d.comm, largest); err != nil {
		return err
	}
	return d.a.Each(func(_ int, x []float64) error {
		dense.Ldexp(x, -d.exponent)
		return nil
	})
}

// iterate runs the Jacobi method on what preconditioning has left.
func (d *Decomposition) iterate(ctx context.Context) error {
	run := d.solve
	if d.hyperbolic() {
		run = d.iterateHyperbolic
	}
	if err := run(ctx); err != nil {
		return err
	}
	return d.values()
}

// solve gives the matrix to the devices.
func (d *Decomposition) solve(ctx context.Context) (err error) {
	c := d.task.Config
	c.M, c.N, c.Vectors = d.a.M, d.a.N, d.V.Used == "accumulate"
	if c.Independent = d.hyperbolic(); c.Independent {
		c.Positive, c.Rising = d.signs()
	}
	c.Source = d.a
	c.KeepSource = d.V.Used == "solve" && d.pre.kept == nil || d.hyperbolic() // for rightVectors, fidelity
	d.Solution, err = jacobi.Solve(ctx, d.comm, d.devices, c)
	return err
}

// vectors forms the singular vectors that are needed in the memory of the hosts, unless they can be read from the devices.
func (d *Decomposition) vectors(ctx context.Context) error {
	switch {
	case !d.wants.left && !d.wants.right:
		return nil
	case d.pre.used == "none" && d.V.Used != "solve" && d.slabs == nil && d.again == nil:
		d.direct = true
		return nil
	}
	u, v, err := d.collect(ctx)
	if err != nil {
		return err
	}
	d.a = nil
	if f := d.deflated; f != nil {
		if d.wants.left {
			if u, err = f.left(u, d.task.N); err != nil {
				return err
			}
		}
		if d.wants.right {
			if v, err = f.right(v); err != nil {
				return err
			}
		}
	}
	if d.u, d.v, err = d.pre.back(u, v, d.wants.left, d.wants.right); err != nil {
		return err
	}
	if d.deflated != nil && d.wants.right {
		d.deflated.reflect(d.v, d.task.Positive)
		if d.VNorm, err = d.v.Norm(); err != nil {
			return err
		}
		if err := d.fullVHolds(); err != nil {
			return err
		}
	}
	if d.wants.right {
		d.v = d.v.Rows(matrix.Inverse(d.order))
	}
	if d.slabs == nil {
		return nil
	}
	if d.wants.left {
		err = d.slabs.Expand(d.u)
	}
	return err
}

// PhaseSeconds returns the seconds of this rank in each phase: those of the Jacobi method summed over its devices, and those of the host.
func (d *Decomposition) PhaseSeconds() map[string]float64 {
	phases := d.Solution.PhaseSeconds()
	for name, seconds := range d.Host {
		phases[name] = seconds
	}
	return phases
}
