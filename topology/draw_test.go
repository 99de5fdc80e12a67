package topology

import (
	"testing"

	"pgregory.net/rapid"

	"jmpi/strategy"
)

func mustTable(t testing.TB, name string, order int) *strategy.Table {
	t.Helper()
	table, err := strategy.New(name, order)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func mustGroups(t testing.TB, devices, size int) *Network {
	t.Helper()
	net, err := FromGroups(devices, size)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func mustPlan(t testing.TB, table *strategy.Table, net *Network, o Options) *Plan {
	t.Helper()
	p, err := New(table, net, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(table); err != nil {
		t.Fatal(err)
	}
	return p
}

// drawTable draws p-steps that are perfect matchings of an even order; pairs may come again.
func drawTable(t *rapid.T, most int) *strategy.Table {
	n := 2 * rapid.IntRange(1, most/2).Draw(t, "pairs")
	table := &strategy.Table{Name: "random", N: n}
	columns := make([]int, n)
	for i := range columns {
		columns[i] = i
	}
	for range rapid.IntRange(1, 5).Draw(t, "steps") {
		shuffled := rapid.Permutation(columns).Draw(t, "columns")
		var step []strategy.Pair
		for i := 0; i < n; i += 2 {
			a, b := shuffled[i], shuffled[i+1]
			step = append(step, strategy.Pair{P: min(a, b), Q: max(a, b)})
		}
		table.Steps = append(table.Steps, step)
	}
	return table
}

// drawNetwork draws a network of up to three levels with at least the given number of devices.
func drawNetwork(t *rapid.T, least int) *Network {
	levels := []Level{{"a", 1}, {"b", 3}, {"c", 7}}[:rapid.IntRange(1, 3).Draw(t, "levels")]
	paths := make([][]string, least+rapid.IntRange(0, 2).Draw(t, "surplus"))
	name := rapid.SampledFrom([]string{"x", "y", "z"})
	for d := range paths {
		for range len(levels) - 1 {
			paths[d] = append(paths[d], name.Draw(t, "name"))
		}
	}
	net, err := FromPaths(levels, paths)
	if err != nil {
		t.Fatal(err)
	}
	return net
}
