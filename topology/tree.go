package topology

import (
	"cmp"
	"fmt"
	"slices"
)

// tree is the part of a network that a plan uses, as the search sees it: its leaves are the
// innermost groups that hold a used device. A state of the search is the leaf of each pivot pair;
// the devices of a leaf need no distinction, because nothing that they exchange is slow.
//
// Subtrees of equal shape can be renamed without changing any cost. relabel picks one state of each
// class under this symmetry, which is what makes exact search possible.
type tree struct {
	devices [][]int // devices[leaf]: the used devices, ascending
	level   [][]int // level[a][b] of an exchange between leaves a and b

	// Nodes: first the leaves, then the groups of each level outwards, the root last.
	parent []int
	shape  []int
	kids   [][][]int // kids[node][shape]: children of that shape, ascending
	depth  []int     // the node's level

	image []int   // scratch of relabel: the new name of each node, -1 for none yet
	taken [][]int // scratch of relabel: taken[node][shape] children given away
}

// newTree builds the tree of the used devices, ascending.
func newTree(net *Network, used []int) *tree {
	t := &tree{}
	var below []int // node of each used device on the level below
	for l := range net.group {
		names := map[int]int{}
		node := make([]int, len(used))
		for i, d := range used {
			id, ok := names[net.group[l][d]]
			if !ok {
				id = len(t.depth)
				names[net.group[l][d]] = id
				t.depth = append(t.depth, l)
				t.parent = append(t.parent, -1)
				if l == 0 {
					t.devices = append(t.devices, nil)
				}
			}
			node[i] = id
			if l == 0 {
				t.devices[id] = append(t.devices[id], d)
			} else {
				t.parent[below[i]] = id
			}
		}
		below = node
	}
	for _, a := range t.devices {
		row := make([]int, len(t.devices))
		for j, b := range t.devices {
			row[j] = net.Level(a[0], b[0])
		}
		t.level = append(t.level, row)
	}
	t.classify()
	return t
}

// classify numbers the shapes of the nodes: two have the same shape if they are on the same level
// and hold the same devices or the same multiset of shapes.
func (t *tree) classify() {
	nodes := len(t.parent)
	children := make([][]int, nodes)
	for node, p := range t.parent {
		if p >= 0 {
			children[p] = append(children[p], node)
		}
	}
	shapes := map[string]int{}
	t.shape = make([]int, nodes)
	for node := range nodes {
		held := []int{}
		if node < len(t.devices) {
			held = append(held, len(t.devices[node]))
		}
		for _, kid := range children[node] {
			held = append(held, t.shape[kid])
		}
		slices.Sort(held)
		key := fmt.Sprint(t.depth[node], held)
		if _, ok := shapes[key]; !ok {
			shapes[key] = len(shapes)
		}
		t.shape[node] = shapes[key]
	}
	t.image = make([]int, nodes)
	for node := range nodes {
		kids := make([][]int, len(shapes))
		for _, kid := range children[node] {
			kids[t.shape[kid]] = append(kids[t.shape[kid]], kid)
		}
		t.kids = append(t.kids, kids)
		t.taken = append(t.taken, make([]int, len(shapes)))
	}
}

// relabel renames the leaves of a state in the order in which they first appear, each by the first
// free leaf that has its shape and an ancestry of the same shapes. Two states get the same
// result if and only if a symmetry of the tree leads from one to the other.
func (t *tree) relabel(state []uint16) {
	for node := range t.image {
		t.image[node] = -1
		clear(t.taken[node])
	}
	root := len(t.image) - 1
	t.image[root] = root
	for i, leaf := range state {
		state[i] = uint16(t.rename(int(leaf)))
	}
}

func (t *tree) rename(node int) int {
	if t.image[node] < 0 {
		up, shape := t.rename(t.parent[node]), t.shape[node]
		t.image[node] = t.kids[up][shape][t.taken[up][shape]]
		t.taken[up][shape]++
	}
	return t.image[node]
}

// pick chooses count devices of the network where it has more: the smallest group that holds them
// all, otherwise whole groups, the largest first, and the rest from the next one.
func pick(net *Network, count int) []int {
	all := make([]int, net.Devices())
	for d := range all {
		all[d] = d
	}
	used := pickFrom(net, all, len(net.group)-1, count)
	slices.Sort(used)
	return used
}

// pickFrom picks from one group of level l.
func pickFrom(net *Network, from []int, l, count int) []int {
	if l == 0 || count == len(from) {
		return from[:count]
	}
	index := map[int]int{}
	var inner [][]int
	for _, d := range from {
		id := net.group[l-1][d]
		if _, ok := index[id]; !ok {
			index[id] = len(inner)
			inner = append(inner, nil)
		}
		inner[index[id]] = append(inner[index[id]], d)
	}
	slices.SortStableFunc(inner, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })
	var picked []int
	for i, group := range inner {
		rest := count - len(picked)
		if rest >= len(group) {
			picked = append(picked, group...)
			continue
		}
		for i+1 < len(inner) && len(inner[i+1]) >= rest {
			i++
		}
		return append(picked, pickFrom(net, inner[i], l-1, rest)...)
	}
	return picked
}
