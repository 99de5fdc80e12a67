package matrix

import (
	"fmt"
	"slices"
	"testing"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// instant is a device that computes nothing: what is left is the host's part.
type instant struct{ kernels.Backend }

func (instant) Limits() kernels.Limits { return kernels.Limits{Tile: 64, Align: 32} }

func (instant) Alloc(int64) (kernels.Address, error) { return 64, nil }

func (instant) Product(p kernels.Panel, transposed bool, _ []float64, count int) ([]float64, error) {
	if transposed {
		return make([]float64, p.N*count), nil
	}
	return make([]float64, 2*p.M*count), nil
}

func (instant) Angles(h []kernels.Panel, _ []int, _ []float64,
	o kernels.AngleOptions) (kernels.Angles, error) {
	columns := 0
	for _, p := range h {
		columns += p.N
	}
	a := kernels.Angles{}
	left := make([][2]int32, len(o.Limits)*columns)
	for l := range o.Limits {
		a.Within = append(a.Within, kernels.Within{Left: left[l*columns : (l+1)*columns]})
	}
	return a, nil
}

// onInstant returns a square matrix on so many of them.
func onInstant(b *testing.B, n, devices int) *Matrix {
	d, err := NewDevices(comm.NewLocal(1)[0], slices.Repeat([]kernels.Backend{instant{}}, devices), false)
	if err != nil {
		b.Fatal(err)
	}
	s, err := d.New(n, n)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkTimes measures what hosts do around the kernels of Times.
func BenchmarkTimes(b *testing.B) {
	const vectors = 4
	for _, n := range []int{4096, 8192} {
		x := RandomNormal(n, vectors, 1, 0)
		for _, devices := range []int{1, 2} {
			for _, transposed := range []bool{false, true} {
				b.Run(fmt.Sprintf("n=%d/devices=%d/transposed=%v", n, devices, transposed), func(b *testing.B) {
					s := onInstant(b, n, devices)
					b.ReportAllocs()
					for b.Loop() {
						if _, err := s.Times(transposed, x, vectors); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkAngles measures what hosts do around the kernels of Angles.
func BenchmarkAngles(b *testing.B) {
	for _, n := range []int{4096, 8192} {
		norms := make([]float64, n)
		for _, devices := range []int{1, 2} {
			for _, limits := range []int{1, kernels.MaxLimits} {
				b.Run(fmt.Sprintf("n=%d/devices=%d/limits=%d", n, devices, limits), func(b *testing.B) {
					s := onInstant(b, n, devices)
					o := kernels.AngleOptions{Limits: make([]float64, limits)}
					b.ReportAllocs()
					for b.Loop() {
						if _, _, err := s.Angles(norms, o); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
