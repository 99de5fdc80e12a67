package cuda

import (
	"fmt"

	"jmpi/kernels"
)

// qrPiece is PIECE of qr.cu: the rows that one block of threads factors.
const qrPiece = 2048

// QR queues kernels that look at Broken on the device. For orders beyond that of one block of threads it
// waits for the flags, and cuSOLVER factors the pivots.
func (d *device) QR(b *kernels.Batch) error {
	return d.primitive("QR", b, kernels.Needs{G: true, R: true, Tally: true}, false, func(s *batch) error {
		if s.order > d.order() {
			return d.largeQR(s)
		}
		return d.smallQR(s)
	})
}

func (d *device) smallQR(s *batch) error {
	exponents, err := d.exponents(s)
	if err != nil {
		return err
	}
	n, order, pieces := s.n(), s.order, max(1, ceil(s.rows, qrPiece))
	var factors kernels.Address
	if pieces > 1 {
		if factors, err = d.need("QR",
			int64(n)*int64(pieces)*int64(order)*int64(order)*kernels.WordBytes); err != nil {
			return err
		}
	}
	slab := 128
	shared := func(slab int) int { return (order*(order+1)/2 + slab*order) * kernels.WordBytes }
	if shared(slab) >= d.shared {
		slab = 64
	}
	words := []uint64{s.at, word(exponents), word(factors), uint64(order)}
	if err := d.launch(fmt.Sprint("qr_piece_", slab), pieces, n, 1, 512, shared(slab), words...); err != nil ||
		pieces == 1 {
		return err
	}
	return d.launch(fmt.Sprint("qr_join_", slab), n, 1, 1, 512, shared(slab), append(words, uint64(pieces))...)
}

// exponents queues the kernel that finds the scaling of the columns of the broken problems.
func (d *device) exponents(s *batch) (kernels.Address, error) {
	a, err := d.need("exponents", int64(s.n())*int64(s.order)*kernels.WordBytes)
	if err != nil {
		return 0, err
	}
	return a, d.launch("qr_exponents", s.order, s.n(), 1, 256, 0, s.at, word(a), uint64(s.order))
}

func (d *device) largeQR(s *batch) error {
	if err := d.sync(); err != nil {
		return err
	}
	var broken []int
	for i, t := range s.Tally {
		if t.Broken != 0 {
			broken = append(broken, i)
		}
	}
	if len(broken) == 0 {
		return nil
	}
	parts, err := d.send(s.Batch, true, false) // Sync has given the staging memory free
	if err != nil {
		return err
	}
	s = parts[0] // and the only one
	exponents, err := d.exponents(s)
	if err != nil {
		return err
	}
	for _, i := range broken {
		p := s.problems[i]
		if p.k == 0 {
			continue
		}
		a, err := d.need("QR", p.g.m*p.k*kernels.WordBytes)
		if err != nil {
			return err
		}
		words := []uint64{s.at, uint64(i), word(exponents) + uint64(i*s.order*kernels.WordBytes), word(a)}
		if err := d.launch("qr_gather", int(p.k), 1, 1, 256, 0, words...); err != nil {
			return err
		}
		if p.g.m > 0 {
			if err := d.solver.geqrf(d, int(p.g.m), int(p.k), a); err != nil {
				return err
			}
		}
		if err := d.launch("qr_scatter", int(p.k), 1, 1, 256, 0, words...); err != nil {
			return err
		}
	}
	return nil
}
