package topology

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxDevices bounds what a text may describe, so that a slip of the pen does not fill the memory.
const maxDevices = 1 << 16

// FromHostfile builds a network of two levels from a hostfile, with one device for each slot, in the
// order of the lines. A line is one of
//
//	node1 slots=4 max_slots=8     Open MPI; without slots one device
//	node1:4                       MPICH
//
// Text after # is a comment. A host may appear on several lines.
// Errors name the line; a read error of r is wrapped.
func FromHostfile(r io.Reader) (*Network, error) {
	var nodes []string
	err := eachLine(r, func(fields []string) error {
		host, slots, err := parseHost(fields)
		if err != nil {
			return err
		}
		if len(nodes)+slots > maxDevices {
			return fmt.Errorf("more than %d slots", maxDevices)
		}
		for range slots {
			nodes = append(nodes, host)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("hostfile: %w", err)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("hostfile: no host in it: write lines like %q", "node1 slots=4")
	}
	return FromNodes(nodes)
}

// parseHost parses the fields of one line of a hostfile.
func parseHost(fields []string) (host string, slots int, err error) {
	host, count, hasCount := strings.Cut(fields[0], ":")
	slots = 1
	if hasCount {
		if slots, err = parseCount("slots", count); err != nil {
			return "", 0, err
		}
	}
	if host == "" {
		return "", 0, fmt.Errorf("%q has no host name", fields[0])
	}
	for _, field := range fields[1:] {
		key, value, ok := strings.Cut(field, "=")
		switch {
		case ok && key == "slots" && !hasCount:
			if slots, err = parseCount(key, value); err != nil {
				return "", 0, err
			}
		case ok && (key == "max_slots" || key == "max-slots"):
			if _, err = parseCount(key, value); err != nil {
				return "", 0, err
			}
		default:
			return "", 0, fmt.Errorf("%q is not understood: a line is \"host slots=N\" or \"host:N\"", field)
		}
	}
	return host, slots, nil
}

func parseCount(what, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxDevices {
		return 0, fmt.Errorf("%s %q must be a whole number from 1 to %d", what, text, maxDevices)
	}
	return n, nil
}

// eachLine calls parse with the fields of each line that is not empty or a comment, and adds the number
// of the line to its errors.
func eachLine(r io.Reader, parse func(fields []string) error) error {
	in := bufio.NewScanner(r)
	line := 0
	for in.Scan() {
		line++
		text, _, _ := strings.Cut(in.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if err := parse(fields); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("after line %d: %w", line, err)
	}
	return nil
}
