package dist

import (
	"slices"
	"time"

	"jmpi/dist/comm"
	"jmpi/dist/matrix"
)

// TallRatio is the ratio of rows to columns from which a matrix is reduced to its triangular factor
// before anything else.
const TallRatio = matrix.TallRatio

// origin is what must be known of the matrix that was read.
type origin struct {
	m, n       int // shape of A
	exponent   int // the scaling by 2^-exponent
	signature  signature
	outOfRange OutOfRange
	slabs      *matrix.Slabs // of a tall matrix, which was reduced to a triangular factor; nil otherwise
	// orthonormal says that the matrix is part of one with orthonormal columns: all its elements have
	// errors of the same size.
	orthonormal bool
	began       time.Time // when A was on the devices
	// of 2^-exponent·A, or of its triangular factor, before anything is done to it
	total total
	probe probe
}

// hyperbolic tells whether there are both signs.
func (o origin) hyperbolic() bool { return o.signature.positive < o.n }

// input is the matrix as it was read, on the devices.
type input struct {
	origin
	x *matrix.Matrix // 2^-exponent·A, with the columns in the order of the signs, or its triangular factor
}

// read brings the matrix to the devices, scaled by a power of two: a tall one as its triangular factor. It
// refuses a matrix for which there is no room. It is collective.
func read(s site, t Task) (input, error) {
	in := input{origin: origin{m: t.M, n: t.N, signature: partition(t.N, t.Signs)}}
	unread := ways{slabs: t.reducible(), vectors: t.needs().any(),
		precondition: NoPreconditioner, v: noRight, reread: true}
	if err := s.fits(t, unread, false); err != nil {
		return in, err
	}
	if unread.slabs {
		tall, err := readTall(s, t, in)
		if err != nil || tall.slabs != nil {
			return tall, err
		}
	}
	var err error
	in.x, err = s.where.Load(t.M, t.N, s.source(t, in))
	if err := comm.Agree(s.comm, comm.KindOf(err), err); err != nil {
		return in, err
	}
	in.began = time.Now()
	err = s.timed("precondition", func() (err error) {
		columns, err := in.x.ColumnMaxima()
		if err != nil {
			return err
		}
		// Scaling by a power of two may bring them to zero.
		if in.outOfRange, err = outOfRange(in.x, columns); err == nil {
			in.exponent, err = scaled(in.x, slices.Max(columns))
		}
		return err
	})
	return in, err
}

// source is A, with the columns in the order of the signs.
func (s site) source(t Task, in input) matrix.Source {
	return matrix.Source{Read: in.signature.reordered(t.read), Threads: s.Threads, Reading: t.Reading}
}

// read is Load, whose errors are of the input.
func (t Task) read(p Part) error { return comm.Input(t.Load(p)) }

// scaled multiplies the matrix by a power of two, 2^-e, so that its largest entry is in [2^(Top−1), 2^Top).
// largest is that of this rank, or of all. It is collective.
func scaled(x *matrix.Matrix, largest float64) (e int, err error) {
	if e, err = matrix.CommonExponent(x.Comm, largest); err != nil {
		return 0, err
	}
	return e, x.Ldexp(-e)
}

// reducible tells whether the matrix is so tall that slabs of its rows are reduced to a triangular
// factor, unless they are graded.
func (t Task) reducible() bool { return t.M >= TallRatio*t.N && t.Precondition != NoPreconditioner }
