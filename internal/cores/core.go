package cores

import (
	"fmt"
	"io/fs"
	"sort"
	"strconv"
	"strings"
)

// Core is a physical core: the numbers of its hardware threads, ascending, as far as they are allowed.
type Core []int

// CPUs returns the hardware threads of the cores, in the order of the cores.
func CPUs(cores []Core) []int {
	var cpus []int
	for _, c := range cores {
		cpus = append(cpus, c...)
	}
	return cpus
}

// group sorts CPUs (ascending) into cores by what the kernel says under /sys; root is the file system
// that holds sys. The cores come socket by socket. A CPU of which nothing is known is a core of its own.
func group(root fs.FS, cpus []int) []Core {
	type place struct {
		socket int
		key    string
	}
	index := map[place]int{}
	var cores []Core
	var sockets []int
	for _, cpu := range cpus {
		dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/", cpu)
		p := place{key: readLine(root, dir+"thread_siblings_list")}
		p.socket, _ = strconv.Atoi(readLine(root, dir+"physical_package_id"))
		i, known := index[p]
		if !known || p.key == "" {
			i = len(cores)
			index[p] = i
			cores = append(cores, nil)
			sockets = append(sockets, p.socket)
		}
		cores[i] = append(cores[i], cpu)
	}
	sort.Stable(bySocket{cores, sockets})
	return cores
}

type bySocket struct {
	cores   []Core
	sockets []int
}

func (b bySocket) Len() int           { return len(b.cores) }
func (b bySocket) Less(i, j int) bool { return b.sockets[i] < b.sockets[j] }
func (b bySocket) Swap(i, j int) {
	b.cores[i], b.cores[j] = b.cores[j], b.cores[i]
	b.sockets[i], b.sockets[j] = b.sockets[j], b.sockets[i]
}

// parseList reads the kernel's form of a set of CPUs, "0-3,8".
func parseList(list string) ([]int, error) {
	var cpus []int
	for item := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, isRange := strings.Cut(item, "-")
		a, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("list of CPUs %q: %w", list, err)
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(last); err != nil {
				return nil, fmt.Errorf("list of CPUs %q: %w", list, err)
			}
		}
		for cpu := a; cpu <= b; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// readLine returns the first line of a small file without its end, "" if it cannot be read.
func readLine(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}
