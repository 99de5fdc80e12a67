package cuda

import (
	"math"

	"jmpi/kernels"
)

// angleLists is how many numbers the kernel finds in a column.
const angleLists = 6

// Angles measures all panels in one launch.
func (d *device) Angles(h []kernels.Panel, first []int, norms []float64,
	o kernels.AngleOptions) (a kernels.Angles, err error) {
	columns := 0
	for _, p := range h {
		columns += p.N
	}
	wrong := kernels.CheckAngles(h, first, norms)
	x, err := d.results("Angles", wrong, angleLists*columns, func(out kernels.Address) error {
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
		return d.launch("angles", min(ceil(list.widest, kernels.PivotSide), gridLimit), min(len(h), gridLimit), 1,
			512, 0, word(list.at), uint64(len(h)), word(from), word(sizes), math.Float64bits(o.Tolerance),
			math.Float64bits(o.Limit), write, word(out), uint64(columns))
	})
	if err != nil {
		return a, err
	}
	of := func(l int) []float64 { return x[l*columns : (l+1)*columns] }
	a = kernels.Angles{Cosine: of(0), Largest: of(1), Sum: of(2), Low: integers(of(3)), High: integers(of(4))}
	for _, count := range of(5) {
		a.Active += int(count)
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

// integers returns whole numbers as what they are.
func integers(x []float64) []int {
	y := make([]int, len(x))
	for i, e := range x {
		y[i] = int(e)
	}
	return y
}
