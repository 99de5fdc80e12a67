package tracetest

import (
	"strings"
	"testing"
)

// What Perfetto drops, cuts or misplaces is refused.
func TestRefused(t *testing.T) {
	const names = `{"name":"process_name","ph":"M","pid":1,"tid":1,"args":{"name":"p"}},
		{"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"t"}},`
	x := func(begin, length string) string {
		return `{"name":"x","cat":"c","ph":"X","ts":` + begin + `,"dur":` + length + `,"pid":1,"tid":1}`
	}
	flight := func(phase, at, id string) string {
		return `{"name":"f","cat":"c","ph":"` + phase + `","ts":` + at + `,"pid":1,"tid":1,"id":"` + id + `"}`
	}
	for _, c := range []struct{ events, want string }{
		{names + x("0", "1.5"), ""},
		{names + x("3", "5") + "," + x("3", "2") + "," + x("5", "3") + "," + x("8", "1"), ""},
		{names + flight("b", "1", "7") + "," + flight("e", "1", "7"), ""},
		{names + x("-1", "5"), "time -1"},
		{names + x("0.1", "1"), "no whole number"},
		{names + `{"name":"x","cat":"c","ph":"X","ts":1,"pid":1,"tid":1}`, "no time or duration"},
		{names + x("0", "2") + "," + x("1", "2"), "overlaps"},
		{names + x("1", "2") + "," + x("1", "3"), "overlaps"},
		{names + `{"name":"x","cat":"c","ph":"X","ts":1,"dur":1,"pid":1,"tid":0}`, "no name, process or thread"},
		{names + `{"name":"x","cat":"c","ph":"X","ts":1,"dur":1,"pid":2,"tid":1}`, "has such a thread"},
		{names + `{"name":"x","cat":"c","ph":"X","ts":1,"dur":1,"pid":1,"tid":2}`, "has no name"},
		{names + `{"name":"x","cat":"c","ph":"Q","ts":1,"dur":1,"pid":1,"tid":1}`, "no id, or a duration"},
		{names + names + x("0", "1"), "a second one"},
		{names + flight("b", "1", "7"), "does not end"},
		{names + flight("e", "1", "7"), "not what may come here"},
		{names + flight("b", "1", "7") + "," + flight("e", "0", "7"), "not what may come here"},
		{names + flight("b", "1", "7") + "," + flight("e", "2", "7") + "," + flight("b", "3", "7"),
			"not what may come here"},
		{names + `{"name":"x","colour":1}`, "unknown field"},
	} {
		_, err := Read([]byte(`{"displayTimeUnit":"ms","traceEvents":[` + c.events + `]}`))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, expected %q", c.events, err, c.want)
		}
	}
}
