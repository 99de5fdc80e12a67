package cpu

// #include "kernels.h"
//
// static struct jmpi_angles angles(const struct jmpi_kernels *s, struct jmpi_column o, void *c,
//		const double *norms, unsigned char *seen)
// {
//	return s->angles(o, c, norms, seen);
// }
import "C"

import (
	"unsafe"

	"jmpi/kernels"
)

// pivotColumns is how many columns of a panel Angles takes at a time.
func pivotColumns(kernels.Panel) int { return kernels.PivotSide }

func (d *device) Angles(h []kernels.Panel, first []int, norms []float64,
	o kernels.AngleOptions) (kernels.Angles, error) {
	if err := kernels.CheckAngles(h, first, norms); err != nil {
		return kernels.Angles{}, named("Angles", err)
	}
	at := make([]int, len(h)+1) // number of a panel's first column among all
	for k, p := range h {
		at[k+1] = at[k] + p.N
	}
	columns := at[len(h)]
	a := kernels.Angles{Cosine: make([]float64, columns), Largest: make([]float64, columns),
		Sum: make([]float64, columns), Low: make([]int, columns), High: make([]int, columns)}
	active := make([]int, columns) // pieces, for the first of their columns
	err := d.eachPiece(h, pivotColumns, func(k, j0, j1 int) {
		seen := make([]C.uchar, (len(norms)+kernels.PivotSide-1)/kernels.PivotSide)
		asked := C.struct_jmpi_column{n: C.int64_t(len(norms)), side: kernels.PivotSide,
			tolerance: C.double(o.Tolerance), limit: C.double(o.Limit)}
		if o.Write {
			asked.write = 1
		}
		for j := j0; j < j1; j++ {
			asked.j = C.int64_t(first[k] + j)
			found := C.angles(d.kernels[kernels.Float64], asked, pointer(h[k].Columns(j, j+1).Data),
				(*C.double)(unsafe.SliceData(norms)), unsafe.SliceData(seen))
			i := at[k] + j
			a.Cosine[i], a.Largest[i], a.Sum[i] = float64(found.cosine), float64(found.largest), float64(found.sum)
			a.Low[i], a.High[i] = int(found.low), int(found.high)
		}
		for _, x := range seen {
			active[at[k]+j0] += int(x)
		}
	})
	for _, x := range active {
		a.Active += x
	}
	return a, named("Angles", err)
}

func (d *device) Departures(p []kernels.Panel) error {
	err := kernels.CheckDepartures(p)
	if err == nil {
		err = d.eachPiece(p, moved, func(k, j0, j1 int) {
			for j := j0; j < j1; j++ {
				c := column(p[k], j)
				c[j] = (c[j] - 1) / 2
				clear(c[j+1:])
			}
		})
	}
	return named("Departures", err)
}
