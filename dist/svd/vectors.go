package svd

import (
	"errors"
	"sync"

	"gonum.org/v1/gonum/mat"

	"jmpi/dist/comm"
	"jmpi/internal/parallel"
)

// Gather returns U (m×k) and V (n×k) on one rank, the root, and nil on the others. What was not wanted is
// nil, and so are both if k = 0. It is collective.
//
// Errors are those of SVD: a *comm.Failure is known to all ranks, with any other the program must end.
func (r *Result) Gather(root int) (u, v *mat.Dense, err error) {
	first := make([]int, r.world.Size()+1)
	for rank := range first {
		if rank > root {
			first[rank] = len(r.S)
		}
	}
	return r.deliver(first)
}

// Columns returns the columns j0 ≤ j < j1 of U and V that are this rank's share: the k columns are divided
// among the ranks in their order, as evenly as possible. u is m×(j1−j0), v n×(j1−j0); what was not wanted is
// nil, and so are both if j0 = j1. It is collective. Errors are those of Gather.
func (r *Result) Columns() (j0, j1 int, u, v *mat.Dense, err error) {
	ranks, me := r.world.Size(), r.world.Rank()
	first := make([]int, ranks+1)
	for rank := range first {
		first[rank] = rank * len(r.S) / ranks
	}
	u, v, err = r.deliver(first)
	return first[me], first[me+1], u, v, err
}

// Parts calls left and right with the parts of U and V that lie on the devices of this rank, from several
// goroutines. A part is of any size; all ranks together have each entry once. The functions must not change a
// part, and may keep it only until they return; nil stands for what is not wanted. It is collective. Errors
// are those of Gather; an error of left or right becomes a *comm.Failure.
func (r *Result) Parts(left, right func(Part) error) error {
	if r.d == nil {
		return nil
	}
	if !r.wants.left() {
		left = nil
	}
	if !r.wants.right() {
		right = nil
	}
	if r.wide {
		left, right = right, left
	}
	return r.world.collective(func() error { return r.d.Vectors(left, right) })
}

// delivery brings columns of U and V to the ranks.
type delivery struct {
	comm  comm.Comm
	first []int         // rank r gets columns first[r] ≤ j < first[r+1]
	here  [2]*mat.Dense // what this rank gets of U and of V
	out   []*line
}

// last is the head of a message after which none comes.
var last = []float64{-1, 0, 0, 0, 0}

// deliver brings columns first[r] ≤ j < first[r+1] to each rank r. It is collective.
func (r *Result) deliver(first []int) (u, v *mat.Dense, err error) {
	err = r.world.collective(func() error {
		u, v, err = r.bring(first)
		return err
	})
	return u, v, err
}

// bring is deliver.
func (r *Result) bring(first []int) (u, v *mat.Dense, err error) {
	me := r.world.Rank()
	d := &delivery{comm: r.world.Comm, first: first, out: lines(r.world.Comm)}
	var receiving sync.WaitGroup
	in := lines(r.world.Comm)
	errs := make([]error, len(in))
	if mine := first[me+1] - first[me]; mine > 0 {
		if r.wants.left() {
			d.here[0] = mat.NewDense(r.m, mine, nil)
		}
		if r.wants.right() {
			d.here[1] = mat.NewDense(r.n, mine, nil)
		}
		for rank, l := range in {
			if rank != me {
				receiving.Go(func() {
					parallel.Guard(func() { errs[rank] = d.receive(l) }, func(e error) { errs[rank] = lost(d.comm, e) })
				})
			}
		}
	}
	err = r.Parts(func(p Part) error { return d.send(0, p) }, func(p Part) error { return d.send(1, p) })
	if known := (*comm.Failure)(nil); err != nil && !errors.As(err, &known) {
		return nil, nil, err // the others do not come to the end
	}
	for rank, l := range d.out {
		if rank != me && first[rank] < first[rank+1] {
			err = errors.Join(err, l.tell(vectorTag, last...))
		}
	}
	receiving.Wait()
	freeAll(d.out)
	freeAll(in)
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, nil, err
	}
	return d.here[0], d.here[1], nil
}

// send sends a part of U (0) or V (1) to those who get it.
func (d *delivery) send(which int, p Part) error {
	for rank, l := range d.out {
		j0, j1 := max(p.Column, d.first[rank]), min(p.Column+p.N, d.first[rank+1])
		if j0 >= j1 {
			continue
		}
		q := Part{Row: p.Row, Column: j0, M: p.M, N: j1 - j0, Ld: p.Ld, Data: p.Data[(j0-p.Column)*p.Ld:]}
		if rank == d.comm.Rank() {
			d.keep(which, q)
		} else if err := l.part(which, q); err != nil {
			return err
		}
	}
	return nil
}

// part sends a part: a head, and the numbers.
func (l *line) part(which int, p Part) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.tell(vectorTag, float64(which), float64(p.Row), float64(p.Column), float64(p.M), float64(p.N))
	if err != nil {
		return err
	}
	data, err := l.room(p.M * p.N)
	if err != nil {
		return err
	}
	place{data, 1, p.M}.put(p.M, p.N, p.Data, 1, p.Ld)
	return l.send(vectorTag, len(data))
}

// receive takes what one rank sends.
func (d *delivery) receive(l *line) error {
	for {
		head, err := l.receive(vectorTag, len(last))
		if err != nil || head[0] < 0 {
			return err
		}
		which := int(head[0])
		p := Part{Row: int(head[1]), Column: int(head[2]), M: int(head[3]), N: int(head[4])}
		if p.Data, err = l.receive(vectorTag, p.M*p.N); err != nil {
			return err
		}
		p.Ld = p.M
		d.keep(which, p)
	}
}

// keep writes a part to what this rank gets.
func (d *delivery) keep(which int, p Part) {
	x := d.here[which].RawMatrix()
	to := place{x.Data[p.Row*x.Stride+p.Column-d.first[d.comm.Rank()]:], x.Stride, 1}
	to.put(p.M, p.N, p.Data, 1, p.Ld)
}
