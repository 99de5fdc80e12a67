package topology

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// FromFile builds a network from a text that describes its levels and devices:
//
//	# name and cost of each level, the fastest first: the cost of one block-column that crosses
//	# it, a whole number, relative to the other levels
//	level nvlink      1
//	level infiniband  8
//	level wan       100
//
//	# groups of devices: path from the outermost group inwards, number of devices
//	group site1/node1 4
//	group site1/node2 4
//	group site2/node3 4
//
// Levels come before groups. A path has one name less than there are levels: two devices with the same
// path are at the first level, with only the last name different at the second, and so on. Devices
// are numbered from 0 in the order of the lines; a path may come again. There are at most 16 levels. Text
// after # is a comment.
// Errors name the line; a read error of r is wrapped.
func FromFile(r io.Reader) (*Network, error) {
	var levels []Level
	var paths [][]string
	err := eachLine(r, func(fields []string) error {
		if len(fields) != 3 {
			return fmt.Errorf("%d words where \"level NAME COST\" or \"group PATH DEVICES\" has 3", len(fields))
		}
		switch fields[0] {
		case "level":
			if len(paths) > 0 {
				return fmt.Errorf("level %s comes after a group: list all levels first", fields[1])
			}
			if len(levels) == maxLevels {
				return fmt.Errorf("more than %d levels", maxLevels)
			}
			level, err := parseLevel(fields[1], fields[2], levels)
			levels = append(levels, level)
			return err
		case "group":
			path := strings.Split(fields[1], "/")
			if len(levels) < 2 {
				return fmt.Errorf("a group needs at least 2 levels before it, there are %d", len(levels))
			}
			if len(path) != len(levels)-1 {
				return fmt.Errorf("path %s has %d names where %d levels ask for %d", fields[1], len(path), len(levels),
					len(levels)-1)
			}
			for _, name := range path {
				if name == "" {
					return fmt.Errorf("path %s has an empty name", fields[1])
				}
			}
			count, err := parseCount("devices", fields[2])
			if err != nil {
				return err
			}
			if len(paths)+count > maxDevices {
				return fmt.Errorf("more than %d devices", maxDevices)
			}
			for range count {
				paths = append(paths, path)
			}
			return nil
		}
		return fmt.Errorf("%q is not understood: a line begins with level or group", fields[0])
	})
	if err != nil {
		return nil, fmt.Errorf("network file: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("network file: no devices in it: add lines like %q", "group node1 4")
	}
	return FromPaths(levels, paths)
}

// maxLevels bounds the levels of a file: the memory of a network is their number times that of devices.
const maxLevels = 16

// parseLevel parses a level that comes after the given ones.
func parseLevel(name, text string, before []Level) (Level, error) {
	const most = 1_000_000 // the sum over a plan stays far inside 64 bits
	cost, err := strconv.ParseInt(text, 10, 64)
	if err != nil || cost < 1 || cost > most {
		return Level{}, fmt.Errorf("cost %q of level %s must be a whole number from 1 to %d", text, name, most)
	}
	for _, b := range before {
		if b.Name == name {
			return Level{}, fmt.Errorf("level %s comes twice", name)
		}
		if b.Cost > cost {
			return Level{}, fmt.Errorf("level %s costs less than level %s before it: list the fastest first", name,
				b.Name)
		}
	}
	return Level{name, cost}, nil
}
