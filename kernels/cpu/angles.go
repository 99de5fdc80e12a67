package cpu

import (
	"math"

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
		seen := make([]bool, (len(norms)+kernels.PivotSide-1)/kernels.PivotSide)
		for j := j0; j < j1; j++ {
			c := angleColumn{norms, o, first[k] + j, seen}
			c.measure(column(h[k], j), &a, at[k]+j)
		}
		for _, x := range seen {
			if x {
				active[at[k]+j0]++
			}
		}
	})
	for _, x := range active {
		a.Active += x
	}
	return a, named("Angles", err)
}

// angleColumn is column j of a matrix of cosines.
type angleColumn struct {
	norms []float64
	kernels.AngleOptions
	j    int
	seen []bool // of the pieces of rows: they have a cosine over the tolerance
}

// measure measures the elements c, for column k of the result.
func (a angleColumn) measure(c []float64, to *kernels.Angles, k int) {
	cosine, largest, sum, low, high := 0.0, 0.0, 0.0, len(c), -1
	for i, x := range c {
		size, e := math.Abs(x), 0.0
		if i != a.j {
			if size > cosine {
				cosine = size
			}
			if !(size <= a.Tolerance) {
				a.seen[i/kernels.PivotSide] = true
				e = angle(x, a.norms[i], a.norms[a.j])
				if size = math.Abs(e); size > a.Limit {
					low, high, e = min(low, i), i, 0
				} else {
					if size > largest {
						largest = size
					}
					sum += size
				}
			}
		}
		if a.Write {
			c[i] = e
		}
	}
	to.Cosine[k], to.Largest[k], to.Sum[k], to.Low[k], to.High[k] = cosine, largest, sum, low, high
}

// angle returns that of a rotation of columns with the norms di and dj and the cosine c.
func angle(c, di, dj float64) float64 {
	small, big := min(di, dj), max(di, dj)
	r := small / big
	e := r * c / ((big - small) / big * (1 + r))
	if dj > di {
		return e
	}
	return -e
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
