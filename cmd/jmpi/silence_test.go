package main

import "testing"

// ScaLAPACK calls MPI itself, from another thread than the beats.
func TestNoWatchBesideScaLAPACK(t *testing.T) {
	for _, test := range []struct {
		vs   []string
		want int
	}{
		{nil, 45},
		{[]string{"lapack", "cusolver"}, 45},
		{[]string{"scalapack"}, 0},
		{[]string{"lapack", "scalapack"}, 0},
	} {
		f := benchFlags{sessionFlags: sessionFlags{silence: 45}, vs: test.vs}
		if f.unwatch(); f.silence != test.want {
			t.Errorf("--vs %v: silence %d s, want %d", test.vs, f.silence, test.want)
		}
	}
}
