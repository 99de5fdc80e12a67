package cuda

import (
	"math"
	"slices"
	"unsafe"

	"jmpi/kernels"
)

// Angles measures all panels in one launch.
func (d *device) Angles(h []kernels.Panel, first []int, norms []float64,
	o kernels.AngleOptions) (a kernels.Angles, err error) {
	columns := 0
	for _, p := range h {
		columns += p.N
	}
	name, limits := "angles_1", slices.Clone(o.Limits)
	if len(limits) > 1 {
		name = "angles_4"
		for len(limits) < kernels.MaxLimits {
			limits = append(limits, limits[len(limits)-1])
		}
	}
	// the largest cosine, how many pieces are active, the largest angles, the largest sums; then the rows of
	// what is left out
	head := 2 + 2*len(limits)
	wrong := kernels.CheckAngles(h, first, norms, o)
	x, err := d.results("Angles", wrong, head+len(limits)*columns, func(out kernels.Address) error {
		if err := d.zeroBytes(out, int64(head)*kernels.WordBytes); err != nil {
			return err
		}
		list, err := d.members("cosines", h)
		if err != nil {
			return err
		}
		from, err := d.integers("columns of cosines", first)
		if err != nil {
			return err
		}
		sizes, err := d.numbers("norms of columns", norms)
		if err != nil {
			return err
		}
		write := uint64(0)
		if o.Write {
			write = 1
		}
		return d.launch(name, min(ceil(list.widest, kernels.PivotSide), gridLimit), min(len(h), gridLimit), 1, 512,
			0, append([]uint64{word(list.at), uint64(len(h)), word(from), word(sizes), math.Float64bits(o.Tolerance),
				write, word(out), uint64(columns)}, words(limits)...)...)
	})
	if err != nil {
		return a, err
	}
	a.Cosine, a.Active = x[0], int(math.Float64bits(x[1]))
	left := unsafe.Slice((*[2]int32)(unsafe.Pointer(unsafe.SliceData(x[head:]))), len(x)-head)
	for l := range o.Limits {
		a.Within = append(a.Within, kernels.Within{Largest: x[2+l], Sum: x[2+len(limits)+l],
			Left: left[l*columns : (l+1)*columns]})
	}
	return a, nil
}

// Departures takes all panels in one launch.
func (d *device) Departures(p []kernels.Panel) error {
	return d.checked("Departures", kernels.CheckDepartures(p), func() error {
		list, err := d.members("departures", p)
		if err != nil {
			return err
		}
		return d.launch("departures", min(list.widest, gridLimit), min(len(p), gridLimit), 1, 256, 0, word(list.at),
			uint64(len(p)))
	})
}
