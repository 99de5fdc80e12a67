package comm

import (
	"testing"
	"time"
)

// TestSilence plays an hour of a watcher that counts once a second.
func TestSilence(t *testing.T) {
	for _, test := range []struct {
		name  string
		tick  func(i int) time.Duration // how long after the last count this one comes
		heard func(i int) bool
		want  time.Duration // the largest silence
	}{
		{"a beat a second", even, always, 0},
		{"a beat every 20 s", even, func(i int) bool { return i%20 == 0 }, 19 * time.Second},
		{"no beat", even, never, time.Hour},
		{"no beat in a minute", even, func(i int) bool { return i < 1000 || i >= 1060 }, time.Minute},
		{"both are suspended for a day", stopped(24 * time.Hour), func(i int) bool { return i != 1000 },
			2 * time.Second},
		{"the watcher is slow", every(1500 * time.Millisecond), never, 90 * time.Minute},
		{"the watcher is very slow", every(time.Minute), never, 2 * time.Hour},
	} {
		now := time.Now()
		s := silence{pause: time.Second, last: now}
		var longest time.Duration
		for i := range 3600 {
			now = now.Add(test.tick(i))
			longest = max(longest, s.count(now, test.heard(i)))
		}
		if longest != test.want {
			t.Errorf("%s: silent for %v, want %v", test.name, longest, test.want)
		}
	}
}

func every(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

func even(int) time.Duration { return time.Second }

func always(int) bool { return true }

func never(int) bool { return false }

// stopped is the time between counts of a process that is stopped once, for so long.
func stopped(d time.Duration) func(i int) time.Duration {
	return func(i int) time.Duration {
		if i == 1000 {
			return d
		}
		return time.Second
	}
}

func TestBeatPause(t *testing.T) {
	for silence, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 50 * time.Millisecond,
		time.Second:            50 * time.Millisecond,
		5 * time.Second:        250 * time.Millisecond,
		time.Minute:            time.Second,
		time.Hour:              time.Second,
	} {
		if got := beatPause(silence); got != want {
			t.Errorf("beats for a silence of %v come every %v, want %v", silence, got, want)
		}
	}
}
