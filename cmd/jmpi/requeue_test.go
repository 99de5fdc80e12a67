package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The example of a job that requeues itself does so when Slurm's signal has stopped the run, and finishes
// when it is started again. Slurm's commands are stood in for: srun by mpirun, squeue by an end of the job in
// an hour, scontrol by a note.
func TestRequeueExample(t *testing.T) {
	script, err := filepath.Abs("../../examples/slurm-requeue.sbatch")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Skip("no mpirun in PATH: the tests on MPI ranks are skipped")
	}
	dir := t.TempDir()
	gauss(t, 900, 900).write(t, filepath.Join(dir, "a.npy"))
	mustFinish(t, dir, 2, "svd a.npy -o want")
	for name, text := range map[string]string{
		"srun":     "#!/bin/sh\nshift 2\nexec mpirun -np 2 \"$@\"\n",
		"squeue":   "#!/bin/sh\ndate -d '1 hour' +%FT%T\n",
		"scontrol": "#!/bin/sh\necho \"$@\" >> requeued\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	job := func(signalAt string) (code int, stderr string) {
		p := &program{token: t.Name(), dir: dir, ranks: 2}
		p.command = exec.Command("bash", script, "a.npy")
		p.command.Dir, p.command.Stderr, p.command.WaitDelay = dir, &p.stderr, time.Second
		p.command.Env = append(os.Environ(), mpirunSettings...)
		p.command.Env = append(p.command.Env, programVariable+"="+p.token, "JMPI_BACKEND=cpu", "JMPI="+os.Args[0],
			"JMPI_CHECKPOINT_SWEEPS=1", "SLURM_CPUS_PER_TASK=1", "SLURM_JOB_ID=17", "SLURM_SUBMIT_DIR="+dir,
			"PATH="+dir+":"+os.Getenv("PATH"))
		if err := p.command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.kill(t) })
		if signalAt != "" {
			p.await(t, phase{begins: signalAt})
			if err := p.command.Process.Signal(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
		}
		limit := time.AfterFunc(2*time.Minute, func() { p.kill(t) })
		defer limit.Stop()
		_ = p.command.Wait()
		return p.command.ProcessState.ExitCode(), p.stderr.String()
	}
	for i, at := range []string{" sweep=2 ", " sweep=4 ", ""} {
		code, text := job(at)
		requeued, _ := os.ReadFile(filepath.Join(dir, "requeued"))
		if want := min(i+1, 2); code != exitDone || strings.Count(string(requeued), "requeue 17\n") != want {
			t.Fatalf("job %d: exit code %d, scontrol got %q\n%s", i+1, code, requeued, text)
		}
	}
	sameResults(t, filepath.Join(dir, "a.svd"), filepath.Join(dir, "want"))
}
