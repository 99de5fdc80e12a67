package topology

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// sizes returns the sizes of the innermost groups in the order of their first device.
func sizes(net *Network) []int {
	s := make([]int, net.Groups())
	for _, id := range net.group[0] {
		s[id]++
	}
	return s
}

func TestFromHostfile(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int
	}{
		{"node1 slots=4\nnode2 slots=2\n", []int{4, 2}},
		{"# cluster\n\nnode1 slots=1 max_slots=8 # two\r\n\tnode2   slots=3\n", []int{1, 3}},
		{"node1\nnode2\nnode1\n", []int{2, 1}},
		{"node1:4\nnode2:4", []int{4, 4}},
		{"10.0.0.1 slots=2", []int{2}},
	} {
		net, err := FromHostfile(strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if !slices.Equal(sizes(net), c.want) {
			t.Errorf("%q: groups of %v, want %v", c.text, sizes(net), c.want)
		}
	}
	for text, say := range map[string]string{
		"":                         "no host",
		"# nothing\n":              "no host",
		"a slots=2\nb slots=x":     "line 2",
		"a slots=0":                "line 1",
		"a slots=-1":               "line 1",
		"a:":                       "line 1",
		"a:2 slots=2":              "line 1",
		":2":                       "no host name",
		"a slots 2":                "line 1",
		"a slot=2":                 "line 1",
		"a max_slots=no":           "line 1",
		"a slots=65536\nb slots=1": "line 2",
	} {
		if _, err := FromHostfile(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: error %v, want %q", text, err, say)
		}
	}
	broken := errors.New("broken")
	if _, err := FromHostfile(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("read error %v", err)
	}
}

// manyLevels is a network file of so many levels, and a group.
func manyLevels(count int) string {
	var b strings.Builder
	for l := range count {
		fmt.Fprintf(&b, "level l%d 1\n", l)
	}
	return b.String() + "group x" + strings.Repeat("/x", count-2) + " 65536\n"
}

func TestHostfileExample(t *testing.T) {
	file, err := os.Open("../hostfile.example")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // which was only read
	net, err := FromHostfile(file)
	if err != nil {
		t.Fatal(err)
	}
	if net.Groups() < 2 || net.Devices() <= net.Groups() {
		t.Errorf("%d devices in %d groups: the example should show several hosts with several slots", net.Devices(),
			net.Groups())
	}
}

func TestFromFile(t *testing.T) {
	net, err := FromFile(strings.NewReader(`
# two sites
level nvlink     1
level infiniband 8   # between nodes
level wan      100
group site1/node1 2
group site1/node2 1
group site2/node1 1
group site1/node1 1
`))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]int{ // levels between the five devices
		{0, 0, 1, 2, 0},
		{0, 0, 1, 2, 0},
		{1, 1, 0, 2, 1},
		{2, 2, 2, 0, 2},
		{0, 0, 1, 2, 0},
	}
	for a, row := range want {
		for b, l := range row {
			if got := net.Level(a, b); got != l {
				t.Errorf("devices %d and %d at level %d, want %d", a, b, got, l)
			}
		}
	}
	if l := net.levels; len(l) != 3 || l[1] != (Level{"infiniband", 8}) {
		t.Errorf("levels %v", l)
	}
	const levels = "level a 1\nlevel b 2\n"
	for text, say := range map[string]string{
		"":                              "no devices",
		levels:                          "no devices",
		"level a 1\ngroup x 1":          "line 2: a group needs at least 2 levels",
		levels + "group x 2\nlevel c 3": "line 4: level c comes after a group",
		levels + "group x/y 2":          "line 3: path x/y has 2 names",
		"level a 1\nlevel a 2":          "line 2: level a comes twice",
		"level a 2\nlevel b 1":          "line 2: level b costs less",
		"level a 0":                     "line 1: cost",
		"level a 1.5":                   "line 1: cost",
		"level a 1000001":               "line 1: cost",
		levels + "group x 0":            "line 3: devices",
		levels + "group x 70000":        "line 3: devices",
		levels + "group x two":          "line 3: devices",
		levels + "group x":              "line 3: 2 words",
		levels + "node x 1":             `line 3: "node"`,
		"level a 1\nlevel b 1\nlevel c 1\ngroup x/ 1": "line 4: path x/ has an empty name",
		manyLevels(17):                                             "line 17: more than 16 levels",
		levels + "group x 65536\ngroup x 1":                        "line 4: more than",
		levels + "group x " + strings.Repeat("9", 40):              "line 3: devices",
		strings.Replace(levels, "b 2", "b 9223372036854775807", 1): "line 2: cost",
	} {
		if _, err := FromFile(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: error %v, want %q", text, err, say)
		}
	}
}

// Parsers return an error or a network, whatever they are given.
func TestParsersDoNotPanic(t *testing.T) {
	word := rapid.SampledFrom([]string{"level", "group", "a", "b/c", "1", "-5", "slots=2", ":", "[", "]", "1-3",
		",", "#", "\n", " ", "é", "\x00"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(word).Draw(t, "words"), "")
		if net, err := FromHostfile(strings.NewReader(text)); (net == nil) == (err == nil) {
			t.Fatal(net, err)
		}
		if net, err := FromFile(strings.NewReader(text)); (net == nil) == (err == nil) {
			t.Fatal(net, err)
		}
	})
}

func TestNetworks(t *testing.T) {
	net, err := FromNodes([]string{"a", "b", "a", "c"})
	if err != nil {
		t.Fatal(err)
	}
	if net.Devices() != 4 || net.Groups() != 3 || net.Level(0, 2) != 0 || net.Level(0, 1) != 1 ||
		net.Level(3, 3) != 0 {
		t.Errorf("%+v", net)
	}
	if s := sizes(mustGroups(t, 7, 3)); !slices.Equal(s, []int{3, 3, 1}) {
		t.Errorf("groups of %v", s)
	}
	first, err := mustGroups(t, 7, 3).First(5)
	if err != nil || !slices.Equal(sizes(first), []int{3, 2}) {
		t.Errorf("%+v, %v", first, err)
	}
	for _, n := range []int{0, 8} {
		if _, err := mustGroups(t, 7, 3).First(n); err == nil {
			t.Errorf("first %d of 7", n)
		}
	}
	for name, build := range map[string]func() (*Network, error){
		"no devices": func() (*Network, error) { return FromNodes(nil) },
		"0 groups":   func() (*Network, error) { return FromGroups(0, 1) },
		"size 0":     func() (*Network, error) { return FromGroups(1, 0) },
		"no levels":  func() (*Network, error) { return FromPaths(nil, [][]string{{}}) },
		"free level": func() (*Network, error) { return FromPaths([]Level{{"a", 0}}, [][]string{{}}) },
		"falling cost": func() (*Network, error) {
			return FromPaths([]Level{{"a", 2}, {"b", 1}}, [][]string{{"x"}})
		},
		"short path": func() (*Network, error) {
			return FromPaths([]Level{{"a", 1}, {"b", 1}}, [][]string{{"x"}, {}})
		},
	} {
		if _, err := build(); err == nil {
			t.Error(name)
		}
	}
}

func ExampleFromHostfile() {
	net, err := FromHostfile(strings.NewReader("node1 slots=2\nnode2 slots=2\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(net.Devices(), net.Groups(), net.Level(0, 1), net.Level(1, 2))
	// Output: 4 2 0 1
}
