package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// FromSlurm builds a network of two levels from a node list as in SLURM_JOB_NODELIST, with the same
// number of devices on each node.
func FromSlurm(list string, perNode int) (*Network, error) {
	nodes, err := ExpandSlurm(list)
	if err != nil {
		return nil, err
	}
	if perNode < 1 || len(nodes)*perNode > maxDevices {
		return nil, fmt.Errorf("topology: %d devices on each of %d nodes: there must be 1 to %d in all", perNode,
			len(nodes), maxDevices)
	}
	var devices []string
	for _, node := range nodes {
		for range perNode {
			devices = append(devices, node)
		}
	}
	return FromNodes(devices)
}

// ExpandSlurm returns the names in a Slurm node list such as "n[1-3,7],gpu[01-02]-ib,login", in its
// order: n1 n2 n3 n7 gpu01-ib gpu02-ib login. Numbers keep the width in which they are written, and a name
// may have several brackets. The error names what is not understood.
func ExpandSlurm(list string) ([]string, error) {
	var all []string
	for rest := strings.TrimSpace(list); ; {
		item, more, hasMore := cutOutside(rest)
		names, err := expandItem(item, maxDevices-len(all))
		if err != nil {
			return nil, fmt.Errorf("node list %q: %w", list, err)
		}
		all = append(all, names...)
		if !hasMore {
			return all, nil
		}
		rest = more
	}
}

// cutOutside cuts at the first comma that is not in brackets.
func cutOutside(s string) (before, after string, found bool) {
	depth := 0
	for i, r := range s {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth <= 0:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// expandItem expands the brackets of one item to at most limit names.
func expandItem(item string, limit int) ([]string, error) {
	head, rest, ok := strings.Cut(item, "[")
	if !ok {
		if item == "" || strings.ContainsAny(item, "] \t") {
			return nil, fmt.Errorf("%q is no node name", item)
		}
		if limit < 1 {
			return nil, fmt.Errorf("it has more than %d names", maxDevices)
		}
		return []string{item}, nil
	}
	ranges, tail, ok := strings.Cut(rest, "]")
	if !ok || strings.ContainsAny(head, "] \t") {
		return nil, fmt.Errorf("the brackets of %q do not match", item)
	}
	tails := []string{""}
	if tail != "" {
		var err error
		if tails, err = expandItem(tail, limit); err != nil {
			return nil, err
		}
	}
	var names []string
	for part := range strings.SplitSeq(ranges, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 62)
		to, err2 := strconv.ParseUint(last, 10, 62)
		if err1 != nil || err2 != nil || to < from {
			return nil, fmt.Errorf("%q is no range of numbers in %q", part, item)
		}
		if to-from >= uint64(limit) || int(to-from+1)*len(tails)+len(names) > limit {
			return nil, fmt.Errorf("it has more than %d names", maxDevices)
		}
		for n := from; n <= to; n++ {
			for _, t := range tails {
				names = append(names, fmt.Sprintf("%s%0*d%s", head, len(first), n, t))
			}
		}
	}
	return names, nil
}
