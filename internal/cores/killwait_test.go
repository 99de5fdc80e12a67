package cores

import (
	"os"
	"path/filepath"
	"testing"
)

// KillWait is asked of Slurm where srun has started ranks on several hosts, and only there.
func TestKillWait(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	step := map[string]string{"SLURM_STEP_ID": "0", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4",
		"SLURM_STEP_NUM_NODES": "2"}
	for _, c := range []struct {
		scontrol string
		hosts    string
		want     int
	}{
		{"echo 'KillOnBadExit = 0'; echo 'KillWait                = 30 sec'; echo 'Other = 7'", "2", 30},
		{"echo 'KillWait=5'", "2", 5},
		{"echo 'KillWait = 30 sec'", "1", 0},
		{"echo 'KillWait = 30 sec'", "", 0},
		{"echo 'OverKillWait = 30 sec'", "2", 0},
		{"echo 'KillWait = 30 sec'; exit 1", "2", 0},
	} {
		script := "#!/bin/sh\n" + c.scontrol + "\n"
		if err := os.WriteFile(filepath.Join(dir, "scontrol"), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
		step["SLURM_STEP_NUM_NODES"] = c.hosts
		getenv := func(name string) string { return step[name] }
		if got := KillWait(launcher(getenv), getenv); got != c.want {
			t.Errorf("%s on %q hosts: %d, want %d", c.scontrol, c.hosts, got, c.want)
		}
	}
	if got := KillWait(Launcher{Name: "Open MPI"}, func(string) string { return "2" }); got != 0 {
		t.Errorf("under mpirun: %d", got)
	}
}
