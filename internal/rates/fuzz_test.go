package rates

import (
	"math"
	"testing"
)

// FuzzParse: what is read from a file gives a time, or says why there is none.
func FuzzParse(f *testing.F) {
	text, err := even().Write()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"kind": "cuda", "batches": [{"order": 0}], "dense": {"product": "1:1"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		for _, n := range []int{1024, 4096, 1 << 20} {
			for _, devices := range []int{1, 16} {
				p := problem(n)
				p.Ladder = n > 1024
				p.Machine = Machine{Devices: devices, OnNode: 4, Phases: 31, SlowPhases: 8}
				forecast, err := r.Forecast(p)
				if err == nil && (!(forecast.Seconds >= 0) || math.IsInf(forecast.Seconds, 0)) {
					t.Errorf("%g s", forecast.Seconds)
				}
			}
		}
	})
}
