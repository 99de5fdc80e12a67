package cores

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mask returns the CPUs, ascending, that process or thread id may run on; id 0 is the calling thread.
func mask(id int) ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(id, &set); err != nil {
		return nil, fmt.Errorf("affinity of process %d: %w", id, err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// setMask confines a thread to the CPUs; id 0 is the calling thread.
func setMask(id int, cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(id, &set); err != nil {
		return fmt.Errorf("affinity of thread %d to CPUs %v: %w", id, cpus, err)
	}
	return nil
}

// widest returns all CPUs that the kernel would let this process use: it asks for those that are online,
// reads back what was granted (the kernel takes away what is not in the cpuset), and restores the mask.
func widest(online []int) ([]int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := mask(0)
	if err != nil {
		return nil, err
	}
	if err := setMask(0, online); err != nil {
		return nil, err
	}
	granted, err := mask(0)
	return granted, errors.Join(err, setMask(0, before))
}

// launcherMask returns the CPUs of the nearest ancestor that is a daemon of Open MPI, or nil if there is
// none. Its mask is what the user or the batch system gave to the run on this node.
func launcherMask(root fs.FS) []int {
	for pid := os.Getppid(); pid > 1; {
		dir := "proc/" + strconv.Itoa(pid)
		switch readLine(root, dir+"/comm") {
		case "mpirun", "mpiexec", "orterun", "orted", "oshrun":
			cpus, err := mask(pid)
			if err != nil {
				return nil
			}
			return cpus
		}
		pid = parent(root, dir)
	}
	return nil
}

// parent returns the id of the parent of the process in dir, 0 if it cannot be read.
func parent(root fs.FS, dir string) int {
	b, err := fs.ReadFile(root, dir+"/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(b), "\nPPid:")
	line, _, _ := strings.Cut(after, "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	return pid
}

// Apply moves every thread of this process to c.CPUs and lets Go's scheduler know; threads started
// later inherit. It does nothing if c.CPUs is nil. Call it before libraries start threads of their
// own with masks of their own.
func (c Choice) Apply() error {
	if c.CPUs == nil {
		return nil
	}
	done := map[int]bool{}
	for again := true; again; { // threads may start meanwhile
		again = false
		tasks, err := filepath.Glob("/proc/self/task/*")
		if err != nil {
			return fmt.Errorf("threads of this process: %w", err)
		}
		for _, task := range tasks {
			id, err := strconv.Atoi(filepath.Base(task))
			if err != nil || done[id] {
				continue
			}
			if err := setMask(id, c.CPUs); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			done[id], again = true, true
		}
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS()
	}
	return nil
}
