package dist

import (
	"jmpi/dist/comm"
	"jmpi/dist/jacobi"
	"jmpi/dist/matrix"
)

// Part is a part of A, or of a matrix of singular vectors, whose column k belongs to Sigma[k].
type Part = matrix.Part

// Reading says in which parts A is to be read.
type Reading = matrix.Reading

// vectors are the singular vectors of A, where they lie.
type vectors struct {
	u, v       *matrix.Matrix   // nil where they are not needed, or elsewhere
	slabs      *matrix.Slabs    // U of a tall matrix, which settle makes of u
	direct     *jacobi.Solution // U and V on the devices
	order      []int            // row j of the V on the devices is row order[j] of V; nil: row j
	count      int              // columns of U and V
	rightLeads bool
}

// Vectors calls left and right with the parts of U and V that this rank has, from several goroutines; nil for
// what is not wanted. They must not change the parts, and may keep them only until they return. In each
// column of U (of V if the task says so) the entry of largest magnitude, the first of them, is positive;
// columns of U whose singular value is zero are completed to an orthonormal set. It is collective.
func (d *Decomposition) Vectors(left, right func(Part) error) error {
	if left == nil && right == nil || d.vectors.count == 0 {
		return nil
	}
	return comm.Agree(d.where.Comm, comm.BadResource, d.vectors.store(d.where, d.threads, left, right))
}

// store gives what this rank has.
func (x vectors) store(d *matrix.Devices, threads int, left, right func(Part) error) error {
	if x.direct != nil {
		return x.direct.Store(d, threads, x.count, left, reorderedRows(x.order, right))
	}
	var sinks []matrix.Sink
	switch {
	case left == nil:
	case x.slabs != nil:
		sinks = append(sinks, x.slabs.Sink(left))
	default:
		sinks = append(sinks, x.u.Sink(left))
	}
	if right != nil {
		sinks = append(sinks, x.v.Sink(right))
	}
	return d.Store(threads, sinks...)
}

// reorderedRows returns a function that gives row j of whole columns as row order[j] to another one; nil
// stands for the identity.
func reorderedRows(order []int, write func(Part) error) func(Part) error {
	if order == nil || write == nil {
		return write
	}
	return func(p Part) error {
		q := Part{Row: p.Row, Column: p.Column, M: p.M, N: p.N, Ld: p.M, Data: make([]float64, p.M*p.N)}
		for k := range p.N {
			for j, x := range p.Data[k*p.Ld:][:p.M] {
				q.Data[k*q.Ld+order[j]] = x
			}
		}
		return write(q)
	}
}

// settle makes U of a tall matrix of that of its triangular factor, and gives the vectors their signs. It is
// collective.
func (x *vectors) settle() (err error) {
	switch {
	case x.direct != nil:
		return x.direct.Finish(x.rightLeads)
	case x.count == 0:
		return nil
	case x.slabs != nil:
		if err := x.slabs.Expand(x.u); err != nil {
			return err
		}
		x.u.Free()
		x.u = nil
	}
	var lead []float64
	switch {
	case x.rightLeads:
		lead, err = x.v.Leads()
	case x.slabs != nil:
		lead, err = x.slabs.Leads()
	default:
		lead, err = x.u.Leads()
	}
	signs, same := make([]float64, len(lead)), true
	for k, e := range lead {
		if signs[k] = 1; e < 0 {
			signs[k], same = -1, false
		}
	}
	if same || err != nil {
		return err
	}
	if x.slabs != nil {
		err = x.slabs.ScaleColumns(signs)
	} else if x.u != nil {
		err = x.u.Scale(nil, signs)
	}
	if err == nil && x.v != nil {
		err = x.v.Scale(nil, signs)
	}
	return err
}
