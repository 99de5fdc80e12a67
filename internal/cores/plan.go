package cores

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

// Info is what is known about the cores of this process.
type Info struct {
	Launcher Launcher

	Machine int // cores of the machine that are online
	// cores that the batch system, the container and the launcher's own mask leave to this node's ranks
	Allowed []Core
	Mask    []Core // cores that this process may use now

	Quota    float64 // CPU time per wall-clock time that control groups grant, 0 for no limit
	Slurm    int     // SLURM_CPUS_PER_TASK, 0 if not set
	Default  bool    // bound by Open MPI's default, not at anyone's wish
	Explicit string  // the environment variable by which a binding was asked for, "" if none
}

// Available looks at this process, its launcher and the machine. What cannot be found out is taken
// to set no limit.
func Available() Info {
	root := os.DirFS("/")
	i := Info{Launcher: FindLauncher(), Quota: quota(root)}
	i.Default, i.Explicit = boundByDefault(os.Getenv)
	i.Slurm, _ = strconv.Atoi(os.Getenv("SLURM_CPUS_PER_TASK"))

	online, err := parseList(readLine(root, "sys/devices/system/cpu/online"))
	if err != nil {
		online = make([]int, runtime.NumCPU())
		for cpu := range online {
			online[cpu] = cpu
		}
	}
	allowed, err := widest(online)
	if err != nil {
		allowed = online
	}
	if cpus := launcherMask(root); cpus != nil {
		allowed = common(allowed, cpus)
	}
	now, err := mask(0)
	if err != nil {
		now = allowed
	}
	i.Machine = len(group(root, online))
	i.Allowed = group(root, allowed)
	i.Mask = group(root, now)
	return i
}

// common returns the numbers that are in both ascending lists.
func common(a, b []int) []int {
	in := map[int]bool{}
	for _, x := range b {
		in[x] = true
	}
	var both []int
	for _, x := range a {
		if in[x] {
			both = append(both, x)
		}
	}
	return both
}

// Choice is the decision for this process.
type Choice struct {
	Threads int    // threads of this rank in all
	Cores   int    // cores that they run on
	CPUs    []int  // the new affinity mask; nil: leave it as it is
	Note    string // what was done, for the log: "widened from 1 to 2 cores"; "" if nothing
	Hint    string // what the user could do to get more cores; "" if nothing
}

// Plan decides from facts alone (package comment); flagThreads is the value of --threads, 0 if it was not
// given. A number of threads that was asked for is taken as it is, and may exceed the cores.
func Plan(i Info, flagThreads int) (Choice, error) {
	if flagThreads < 0 {
		return Choice{}, fmt.Errorf("--threads %d: must be positive, or 0 to use the rank's share of the cores",
			flagThreads)
	}
	share := i.share()
	want := flagThreads
	if want == 0 {
		want = i.limit(len(share))
	}
	c := Choice{Threads: want, Cores: len(i.Mask)}
	if want <= c.Cores {
		return c, nil
	}
	switch more := len(share) > c.Cores; {
	case more && i.Default && i.Slurm == 0:
		c.Cores = len(share)
		c.CPUs = CPUs(share)
		c.Note = fmt.Sprintf("widened from %s to %s", count(len(i.Mask)), count(len(share)))
	case more:
		c.Hint = i.hint(min(want, len(share)))
	}
	if flagThreads == 0 {
		c.Threads = max(min(want, c.Cores), 1)
	}
	return c, nil
}

// share returns the block of the allowed cores that is this rank's, at least one core if there is any.
func (i Info) share() []Core {
	n, ranks, r := len(i.Allowed), i.Launcher.LocalSize, i.Launcher.LocalRank
	if ranks < 1 || r >= ranks {
		return i.Allowed
	}
	first, last := r*n/ranks, (r+1)*n/ranks
	if first == last && n > 0 {
		last++ // more ranks than cores: last ≤ n−1 here
	}
	return i.Allowed[first:last]
}

// limit returns the threads for a share of so many cores, with the limits that are no masks.
func (i Info) limit(share int) int {
	if i.Slurm > 0 {
		share = min(share, i.Slurm)
	}
	if i.Quota > 0 {
		share = min(share, int(i.Quota)/max(i.Launcher.LocalSize, 1))
	}
	return max(share, 1)
}

// hint is the command line that would give this rank n cores, "" where none is known.
func (i Info) hint(n int) string {
	bound := fmt.Sprintf("this rank is bound to %s", count(len(i.Mask)))
	switch {
	case i.Launcher.Name == "Open MPI" && i.Explicit != "":
		return fmt.Sprintf("%s by %s; mpirun --bind-to none, or --map-by slot:PE=%d, would give it %d", bound,
			i.Explicit, n, n)
	case i.Launcher.Name == "Open MPI":
		return fmt.Sprintf("%s; mpirun --bind-to none, or --map-by slot:PE=%d, would give it %d", bound, n, n)
	case i.Launcher.Name == "Slurm":
		return fmt.Sprintf("%s; srun --cpus-per-task=%d would give it %d", bound, n, n)
	}
	return ""
}

// count writes a number of cores.
func count(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}
