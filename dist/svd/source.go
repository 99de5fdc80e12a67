package svd

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"gonum.org/v1/gonum/mat"

	"jmpi/dist"
	"jmpi/dist/comm"
	"jmpi/internal/parallel"
)

// Part is a rectangle of a matrix: rows Row ≤ i < Row+M, columns Column ≤ j < Column+N. It is column-major:
// entry (i, j) is Data[(i−Row) + (j−Column)·Ld].
type Part = dist.Part

// Source is where a matrix comes from: Columns or Func. The zero value is a rank without columns.
type Source struct {
	mine mat.Matrix // nil: no columns
	m, n int
	fill func(Part) error // nil: mine counts
}

// Columns is a matrix whose columns the ranks have: a those of this rank. They stand next to each other in
// the order of the ranks. A rank that has none gives nil. So where rank 0 has the whole matrix, the others
// give nil, and each rank may as well give a matrix of its own columns. Their entries go to the ranks that
// need them while the matrix is read. a must not change until SVD or HSVD returns, and neither changes it.
// Several goroutines call its At, a *mat.Dense is read without.
func Columns(a mat.Matrix) Source {
	if v := reflect.ValueOf(a); a == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return Source{}
	}
	return Source{mine: a}
}

// Func is an m×n matrix of which every rank can have every part: fill writes a part to its Data. Several
// goroutines call it, for some parts more than once. An error of it ends the decomposition on all ranks. No
// rank holds more of the matrix than its share.
func Func(m, n int, fill func(Part) error) Source { return Source{m: m, n: n, fill: fill} }

// offer is what a rank tells of its matrix and its settings.
type offer struct {
	M, N    int
	Shared  bool // as Func has it
	Options string
}

// offer tells what this rank has.
func (a Source) offer(options string) (o offer, err error) {
	o = offer{a.m, a.n, a.fill != nil, options}
	if a.mine != nil {
		err = safely("Dims of the matrix", func() error {
			o.M, o.N = a.mine.Dims()
			return nil
		})
	}
	switch {
	case err != nil:
	case o.M < 0 || o.N < 0:
		err = fmt.Errorf("svd: the matrix is %d×%d", o.M, o.N)
	case a.mine == nil && a.fill == nil && (a.m != 0 || a.n != 0):
		err = errors.New("svd: Func has no function")
	}
	return o, err
}

// join learns what all ranks have. wrong is what this rank has found wrong with its settings. It is
// collective.
func (w *World) join(a Source, options string, wrong error) (*input, error) {
	mine, err := a.offer(options)
	if wrong == nil {
		wrong = err
	}
	if err := comm.Agree(w.Comm, comm.BadUse, wrong); err != nil {
		return nil, err
	}
	all, err := comm.AllOf(w.Comm, mine)
	if err != nil {
		return nil, err
	}
	in := &input{comm: w.Comm, source: a, from: []int{0}}
	for rank, o := range all {
		switch {
		case o.Options != all[0].Options:
			return nil, differs(rank, "settings", o.Options, all[0].Options)
		case o.Shared != all[0].Shared:
			return nil, differs(rank, "a source", "Columns or Func", "the other")
		case o.Shared && (o.M != all[0].M || o.N != all[0].N):
			return nil, differs(rank, "a matrix", fmt.Sprintf("%d×%d", o.M, o.N),
				fmt.Sprintf("%d×%d", all[0].M, all[0].N))
		case !o.Shared && o.N > 0 && in.n > 0 && o.M != in.m:
			return nil, differs(rank, "columns", fmt.Sprintf("%d rows", o.M), fmt.Sprintf("%d", in.m))
		}
		switch {
		case o.Shared:
			in.m, in.n = o.M, o.N
		case o.N > 0:
			in.m, in.n = o.M, in.n+o.N
		}
		in.from = append(in.from, in.n)
	}
	return in, nil
}

// differs says that a rank has something else than those before it.
func differs(rank int, what, its, theirs string) error {
	return &comm.Failure{Rank: rank, Kind: comm.BadUse, Text: fmt.Sprintf(
		"svd: this rank gives %s of its own: %s, not %s; all ranks must agree", what, its, theirs)}
}

// rectangle is rows i0 ≤ i < i1 and columns j0 ≤ j < j1 of A.
type rectangle struct{ i0, i1, j0, j1 int }

func (x rectangle) size() int { return (x.i1 - x.i0) * (x.j1 - x.j0) }

// place is where a rectangle of A is to be written: entry (i0+i, j0+j) to data[i·down + j·right].
type place struct {
	data        []float64
	down, right int
}

// at is the place of a part of the rectangle, i rows down and j columns to the right.
func (p place) at(i, j int) place { return place{p.data[i*p.down+j*p.right:], p.down, p.right} }

// put writes m×n numbers, of which entry (i, j) is from[i·down + j·right].
func (p place) put(m, n int, from []float64, down, right int) {
	const few = 64 // rows at a time: their lines stay in the cache where one of both goes by rows
	for i0 := 0; i0 < m; i0 += few {
		for j := range n {
			for i := i0; i < min(m, i0+few); i++ {
				p.data[i*p.down+j*p.right] = from[i*down+j*right]
			}
		}
	}
}

// load writes a part of the matrix that is decomposed, A or its transpose.
func (in *input) load(p Part) error {
	x := rectangle{p.Row, p.Row + p.M, p.Column, p.Column + p.N}
	to := place{p.Data, 1, p.Ld}
	if in.m < in.n {
		x, to = rectangle{x.j0, x.j1, x.i0, x.i1}, place{p.Data, p.Ld, 1}
	}
	if err := in.read(x, to); err != nil {
		return err
	}
	for j := range x.j1 - x.j0 {
		for i := range x.i1 - x.i0 {
			if e := to.data[i*to.down+j*to.right]; math.IsNaN(e - e) {
				return fmt.Errorf("svd: entry (%d, %d) of the matrix is %v; give finite numbers", x.i0+i, x.j0+j, e)
			}
		}
	}
	return nil
}

// read writes a rectangle of A.
func (in *input) read(x rectangle, to place) error {
	if fill := in.source.fill; fill != nil {
		m, n := x.i1-x.i0, x.j1-x.j0
		p := Part{Row: x.i0, Column: x.j0, M: m, N: n, Ld: to.right, Data: to.data}
		if to.down != 1 {
			p.Ld, p.Data = m, make([]float64, m*n)
		}
		if err := safely("the function of Func", func() error { return fill(p) }); err != nil {
			return err
		}
		if to.down != 1 {
			to.put(m, n, p.Data, 1, p.Ld)
		}
		return nil
	}
	for rank := range in.comm.Size() {
		y := rectangle{x.i0, x.i1, max(x.j0, in.from[rank]), min(x.j1, in.from[rank+1])}
		if y.j0 >= y.j1 {
			continue
		}
		err := error(nil)
		if there := to.at(0, y.j0-x.j0); rank == in.comm.Rank() {
			err = in.own(y, there)
		} else {
			err = in.fetch(rank, y, there)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// own writes a rectangle that lies in the columns of this rank.
func (in *input) own(x rectangle, to place) error {
	first := in.from[in.comm.Rank()]
	a := in.source.mine
	return safely("At of the matrix", func() error {
		if raw, ok := a.(mat.RawMatrixer); ok {
			r := raw.RawMatrix()
			to.put(x.i1-x.i0, x.j1-x.j0, r.Data[x.i0*r.Stride+x.j0-first:], r.Stride, 1)
			return nil
		}
		for i := x.i0; i < x.i1; i++ {
			for j := x.j0; j < x.j1; j++ {
				to.data[(i-x.i0)*to.down+(j-x.j0)*to.right] = a.At(i, j-first)
			}
		}
		return nil
	})
}

// safely calls what belongs to the user. A panic of it is an error of the matrix, not of this program.
func safely(what string, f func() error) (err error) {
	parallel.Guard(func() { err = f() }, func(lost error) {
		// What it says, not the panic itself: on that comm.Agree would not agree.
		text := strings.TrimPrefix(lost.Error(), "internal error: ")
		err = fmt.Errorf("svd: %s has panicked: %s", what, text)
	})
	return err
}
