package rates

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

func TestCurve(t *testing.T) {
	c := Curve{{100, 2}, {200, 3}, {400, 7}}
	for work, want := range map[float64]float64{
		0: 0, 100: 2, 150: 2.5, 200: 3, 300: 5, 400: 7,
		800: 14,  // at the rate of the last point
		50:  1.5, // on the line through the first two points: 1 s is launching
		1:   1.01,
	} {
		near(t, "the time", c.Seconds(work), want)
	}
	near(t, "the time where there is no launching", Curve{{100, 1}, {200, 4}}.Seconds(50), 0.5)
	near(t, "the time from one point", Curve{{100, 2}}.Seconds(50), 1)
	if s := (Curve{}).Seconds(5); s != 0 {
		t.Errorf("no points give %g s", s)
	}
	c.Add(Point{200, 9})
	c.Add(Point{50, 1})
	near(t, "a point that was replaced", c.Seconds(200), 9)
	near(t, "a point that was added", c.Seconds(50), 1)
	if len(c) != 4 {
		t.Errorf("%d points", len(c))
	}
}

func TestCurveText(t *testing.T) {
	c := Curve{{1.5e9, 2e-5}, {3e9, 4e-5}}
	text, err := c.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back Curve
	if err := back.UnmarshalText(text); err != nil || len(back) != 2 || back[1] != c[1] {
		t.Errorf("%s: %v, %v", text, back, err)
	}
	for _, bad := range []string{"1", "1:x", "x:1", "0:1", "1:-1", "2:1 1:1", "1:1 1:2", "NaN:1"} {
		if err := back.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	var shares Shares
	if err := shares.UnmarshalText([]byte("1 0.5 0")); err != nil || len(shares) != 3 || shares[1] != 0.5 {
		t.Errorf("%v, %v", shares, err)
	}
	for _, bad := range []string{"2", "-1", "x"} {
		if err := shares.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("the share %q was taken", bad)
		}
	}
}
