package matrix

import (
	"math"
	"testing"

	"jmpi/dist/comm"
	"jmpi/dist/disttest"
	"jmpi/internal/gen"
	"jmpi/kernels"
	"jmpi/kernels/cpu"
)

// Columns that lie in one block, in two, and on two devices are multiplied; others stay as they are.
func TestTurn(t *testing.T) {
	const m, n = 90, 300
	a := disttest.Generate(t, "gauss", gen.Options{Rows: m, Cols: n, Seed: 2})
	spans, squares := turns(n)
	want := append([]float64(nil), a...)
	across := 0
	for i, c := range spans {
		k := c[1] - c[0]
		for j := range k {
			for row := range m {
				x := 0.0
				for l := range k {
					x += a[(c[0]+l)*m+row] * squares[i][l+j*k]
				}
				want[(c[0]+j)*m+row] = x
			}
		}
		if c[0]/64 != (c[1]-1)/64 {
			across++
		}
	}
	if across == 0 || across == len(spans) {
		t.Fatalf("%d of %d pairs are in several blocks", across, len(spans))
	}
	for _, devices := range []int{1, 3} {
		var backends []kernels.Backend
		for range devices {
			be, err := cpu.Open(1)
			if err != nil {
				t.Fatal(err)
			}
			backends = append(backends, be)
		}
		d, err := NewDevices(comm.NewLocal(1)[0], backends, true)
		if err != nil {
			t.Fatal(err)
		}
		columns := map[int][]float64{}
		for j := range n {
			columns[j] = a[j*m : (j+1)*m]
		}
		x, err := d.Scatter(m, n, columns)
		if err == nil {
			err = x.Turn(spans, squares)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, m*n)
		x.copyTo(t, got)
		for i := range got {
			if e := math.Abs(got[i] - want[i]); !(e <= 1e-13) {
				t.Fatalf("%d devices: element %d is off by %g", devices, i, e)
			}
		}
		if err := d.Free(); err != nil {
			t.Error(err)
		}
	}
}
