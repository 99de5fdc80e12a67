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
	"sync"
	"unsafe"

	"jmpi/kernels"
)

// The limits that the kernels take are as many as there may be.
var _ [kernels.MaxLimits]struct{} = [C.jmpi_limits]struct{}{}

// pivotColumns is how many columns of a panel Angles takes at a time.
func pivotColumns(kernels.Panel) int { return kernels.PivotSide }

func (d *device) Angles(h []kernels.Panel, first []int, norms []float64,
	o kernels.AngleOptions) (kernels.Angles, error) {
	if err := kernels.CheckAngles(h, first, norms, o); err != nil {
		return kernels.Angles{}, named("Angles", err)
	}
	at := make([]int, len(h)+1) // number of a panel's first column among all
	for k, p := range h {
		at[k+1] = at[k] + p.N
	}
	a := kernels.Angles{Within: make([]kernels.Within, len(o.Limits))}
	for l := range a.Within {
		a.Within[l].Left = make([][2]int32, at[len(h)])
	}
	var joining sync.Mutex
	err := d.eachPiece(h, pivotColumns, func(k, j0, j1 int) {
		seen := make([]C.uchar, (len(norms)+kernels.PivotSide-1)/kernels.PivotSide)
		piece := kernels.Angles{Within: make([]kernels.Within, len(o.Limits))}
		asked := C.struct_jmpi_column{n: C.int64_t(len(norms)), side: kernels.PivotSide,
			tolerance: C.double(o.Tolerance), count: C.int64_t(len(o.Limits))}
		for l, limit := range o.Limits {
			asked.limits[l] = C.double(limit)
		}
		if o.Write {
			asked.write = 1
		}
		for j := j0; j < j1; j++ {
			asked.j = C.int64_t(first[k] + j)
			found := C.angles(d.kernels[kernels.Float64], asked, pointer(h[k].Columns(j, j+1).Data),
				(*C.double)(unsafe.SliceData(norms)), unsafe.SliceData(seen))
			piece.Cosine = max(piece.Cosine, float64(found.cosine))
			for l := range piece.Within {
				x, to := found.within[l], &piece.Within[l]
				to.Largest, to.Sum = max(to.Largest, float64(x.largest)), max(to.Sum, float64(x.sum))
				a.Within[l].Left[at[k]+j] = [2]int32{int32(x.low), int32(x.high)}
			}
		}
		for _, x := range seen {
			piece.Active += int(x)
		}
		joining.Lock()
		defer joining.Unlock()
		a.Join(piece)
	})
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
