package cuda

import (
	"fmt"

	"jmpi/kernels"
)

const (
	qrPiece  = 2048    // PIECE of qr.cu: the rows that one block of threads factors
	qrStatic = 2 << 10 // bytes of shared memory that its kernels have besides
)

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

// smallQR is one launch, of no more blocks than run at a time: mostly there is nothing to do.
func (d *device) smallQR(s *batch) error {
	n, order, pieces := s.n(), s.order, max(1, ceil(s.rows, qrPiece))
	exponents, err := d.need("exponents", int64(n)*int64(pieces)*int64(order)*kernels.WordBytes)
	if err != nil {
		return err
	}
	factors, err := d.need("QR", int64(n)*int64(pieces)*int64(order)*int64(order)*kernels.WordBytes)
	if err != nil {
		return err
	}
	done, err := d.need("QR pieces", int64(n)*kernels.WordBytes)
	if err != nil {
		return err
	}
	slab := 128
	shared := func(slab int) int { return (order*(order+1)/2 + slab*order) * s.Type.Bytes() }
	if shared(slab)+qrStatic > d.shared {
		slab = 64
	}
	return d.launch(fmt.Sprint(s.kernel("qr_"), slab), min(n*pieces, d.processors), 1, 1, 512, shared(slab),
		s.at, uint64(n), word(exponents), word(factors), word(done), uint64(order), uint64(pieces))
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
	exponents, err := d.need("exponents", int64(s.order)*kernels.WordBytes)
	if err != nil {
		return err
	}
	for _, i := range broken {
		p := s.problems[i]
		if p.k == 0 {
			continue
		}
		a, err := d.need("QR", p.g.m*p.k*int64(s.Type.Bytes()))
		if err != nil {
			return err
		}
		words := []uint64{s.at, uint64(i), word(exponents), word(a)}
		if err := d.launch(s.kernel("qr_exponents"), int(p.k), 1, 1, 32, 0, words[:3]...); err != nil {
			return err
		}
		if err := d.launch(s.kernel("qr_gather"), int(p.k), 1, 1, 256, 0, words...); err != nil {
			return err
		}
		if p.g.m > 0 {
			if err := d.solver.geqrf(d, int(p.g.m), int(p.k), a, s.Type); err != nil {
				return err
			}
		}
		if err := d.launch(s.kernel("qr_scatter"), int(p.k), 1, 1, 256, 0, words...); err != nil {
			return err
		}
	}
	return nil
}
