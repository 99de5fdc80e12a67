package enum

import "testing"

type color int

var colors = Names{"red", "green", "blue"}

func TestSet(t *testing.T) {
	for i, name := range colors {
		c := color(-1)
		if err := Set(&c, name, colors); err != nil || int(c) != i || colors.Of(int(c)) != name {
			t.Errorf("%q is set to %d, error %v", name, c, err)
		}
	}
	c := color(2)
	if err := Set(&c, "Red", colors); err == nil || err.Error() != "choose one of red green blue" || c != 2 {
		t.Errorf("Red is set to %d, error %v", c, err)
	}
	if got := colors.Type(); got != "red|green|blue" {
		t.Errorf("the type is %q", got)
	}
	if got := colors.Of(3); got != "unknown (3)" {
		t.Errorf("value 3 is %q", got)
	}
}
