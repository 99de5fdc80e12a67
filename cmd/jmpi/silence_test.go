package main

import "testing"

// A host that dies ends the job within a minute, also where srun waits for its ranks.
func TestSilenceUnderSrun(t *testing.T) {
	for killWait, want := range map[int]int{5: 45, 9: 45, 10: 44, 30: 24, 60: 10} {
		s := silence{seconds: usualSilence}
		if got := s.under(killWait); got != want {
			t.Errorf("KillWait %d: %d s, want %d", killWait, got, want)
		}
	}
}

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
		f := benchFlags{sessionFlags: sessionFlags{silence: silence{seconds: 45}}, vs: test.vs}
		if f.unwatch(); f.silence.seconds != test.want {
			t.Errorf("--vs %v: silence %d s, want %d", test.vs, f.silence.seconds, test.want)
		}
	}
}
