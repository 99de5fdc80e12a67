package topology

import (
	"fmt"
	"slices"
	"strconv"
)

// Level is one kind of link: every exchange between two devices crosses exactly one level.
type Level struct {
	Name string
	Cost int64 // of one block-column, relative to the other levels; positive
}

// Network groups devices in nested levels, the fastest first. Two devices are at level 0 if they
// share an innermost group, at level 1 if only the next larger group holds both, and so on; the
// outermost level holds all. An exchange above level 0 is slow.
//
// A Network is immutable; its devices are numbered from 0 in the order of the constructor's input.
type Network struct {
	levels []Level
	group  [][]int // group[l][d] numbers the group of device d at level l; the last row is all zero
}

// Default levels of the constructors that know nodes only. The ratio is the order of magnitude
// between links inside a node and a network; it counts for the objective Link alone.
var nodeLevels = []Level{{"node", 1}, {"network", 10}}

// FromPaths builds a network from the levels, fastest first, and one path per device that names its
// groups from the outermost inwards: len(levels)-1 names, none for a uniform network.
// Costs must be positive and must not fall from a level to the next.
func FromPaths(levels []Level, paths [][]string) (*Network, error) {
	if len(levels) == 0 || len(paths) == 0 {
		return nil, fmt.Errorf("topology: a network needs at least one level and one device, not %d and %d",
			len(levels), len(paths))
	}
	for l, v := range levels {
		if v.Cost <= 0 || l > 0 && v.Cost < levels[l-1].Cost {
			return nil, fmt.Errorf("topology: level %q costs %d: costs are positive and never fall from one level "+
				"to the next", v.Name, v.Cost)
		}
	}
	net := &Network{levels: slices.Clone(levels), group: make([][]int, len(levels))}
	top := len(levels) - 1
	net.group[top] = make([]int, len(paths))
	for l := top - 1; l >= 0; l-- {
		net.group[l] = make([]int, len(paths))
		type key struct {
			outer int
			name  string
		}
		known := map[key]int{}
		for d, path := range paths {
			if len(path) != top {
				return nil, fmt.Errorf("topology: device %d has %d group names where %d levels ask for %d", d, len(path),
					len(levels), top)
			}
			k := key{net.group[l+1][d], path[top-1-l]}
			id, ok := known[k]
			if !ok {
				id = len(known)
				known[k] = id
			}
			net.group[l][d] = id
		}
	}
	return net, nil
}

// FromNodes builds a network of two levels from the node name of each device: devices of the same
// name exchange fast.
func FromNodes(nodes []string) (*Network, error) {
	paths := make([][]string, len(nodes))
	for i, name := range nodes {
		paths[i] = []string{name}
	}
	return FromPaths(nodeLevels, paths)
}

// FromGroups builds a network of two levels: devices in consecutive groups of the given size, the
// last group smaller where size does not divide devices.
func FromGroups(devices, size int) (*Network, error) {
	if devices < 1 || size < 1 {
		return nil, fmt.Errorf("topology: %d devices in groups of %d: both must be at least 1", devices, size)
	}
	nodes := make([]string, devices)
	for d := range nodes {
		nodes[d] = strconv.Itoa(d / size)
	}
	return FromNodes(nodes)
}

// Devices returns the number of devices.
func (n *Network) Devices() int { return len(n.group[0]) }

// Groups returns the number of innermost groups.
func (n *Network) Groups() int { return slices.Max(n.group[0]) + 1 }

// Largest returns the number of devices in the innermost group that has most.
func (n *Network) Largest() (most int) {
	count := make([]int, n.Groups())
	for _, g := range n.group[0] {
		count[g]++
		most = max(most, count[g])
	}
	return most
}

// Level returns the level that an exchange between devices a and b crosses; 0 if a = b.
func (n *Network) Level(a, b int) int {
	l := 0
	for n.group[l][a] != n.group[l][b] {
		l++
	}
	return l
}

// First returns the network of the first devices, 1 ≤ devices ≤ n.Devices(), as a launcher
// that fills the nodes in order would use them.
func (n *Network) First(devices int) (*Network, error) {
	if devices < 1 || devices > n.Devices() {
		return nil, fmt.Errorf("topology: %d devices asked for, the network has %d", devices, n.Devices())
	}
	first := &Network{levels: n.levels, group: make([][]int, len(n.group))}
	for l := range n.group {
		first.group[l] = n.group[l][:devices]
	}
	return first, nil
}
