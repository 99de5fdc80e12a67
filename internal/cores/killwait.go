package cores

import (
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// askLimit is how long Slurm may take to tell its configuration.
const askLimit = 5 * time.Second

var killWaitLine = regexp.MustCompile(`(?m)^KillWait\s*=\s*([0-9]{1,9})\b`)

// KillWait returns how many seconds srun waits, when the ranks of a step are killed, for those that do not
// tell that they have ended, as those of a dead host: Slurm's KillWait. srun reads it from the configuration
// when it starts, and a rank cannot change it. It is 0 where srun has not started ranks on several hosts, and
// where Slurm does not tell it.
func KillWait(l Launcher, getenv func(string) string) int {
	hosts, err := strconv.Atoi(getenv("SLURM_STEP_NUM_NODES"))
	if l.Name != "Slurm" || err != nil || hosts < 2 {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "scontrol", "show", "config").Output()
	if err != nil {
		return 0
	}
	found := killWaitLine.FindSubmatch(out)
	if found == nil {
		return 0
	}
	seconds, _ := strconv.Atoi(string(found[1])) // which are digits
	return seconds
}
