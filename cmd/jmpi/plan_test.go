package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"jmpi/dist/jacobi"
	"jmpi/kernels/cuda"
	"jmpi/node"
	"jmpi/strategy"
)

// executePlan runs a command line; it returns stdout, the exit code and the error.
func executePlan(args ...string) (string, int, error) {
	var out bytes.Buffer
	cmd := newPlanCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), exitCode(err), err
}

// planFile writes a file for --hostfile or --network.
func planFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "network")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// executePlanJSON returns the plan of a command line.
func executePlanJSON(t *testing.T, args ...string) planJSON {
	t.Helper()
	out, code, err := executePlan(append(args, "--json")...)
	if code != exitDone {
		t.Fatalf("plan %v: exit code %d, %v", args, code, err)
	}
	var p planJSON
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// The figures for reverse R, of an independent program.
func TestPlanSlowPhases(t *testing.T) {
	for _, c := range []struct {
		args string
		want float64
	}{
		{"--devices 4 --group 2", 3.5},
		{"--devices 6 --group 2", 7.5},
		{"--devices 8 --group 2", 7.92},
		{"--devices 8 --group 4", 3.92},
		{"--devices 4 --group 2 --periodic", 4},
		{"--devices 6 --group 2 --periodic", 11},
		{"--devices 8 --group 2 --periodic", 8},
		{"--devices 8 --group 4 --periodic", 4},
		{"--devices 8 --group 8", 0},
		{"--devices 8", 0},
	} {
		p := executePlanJSON(t, strings.Fields(c.args)...)
		if math.Abs(p.SlowPhasesPerSweep-c.want) > 0.005 {
			t.Errorf("plan %s: %v slow phases a sweep, want %v", c.args, p.SlowPhasesPerSweep, c.want)
		}
		if steps := 12 * int(p.PhasesPerSweep); len(p.Steps) != steps {
			t.Errorf("plan %s: %d steps, want %d", c.args, len(p.Steps), steps)
		}
	}
	if p := executePlanJSON(t, "--devices", "6", "--group", "2", "--objective",
		"columns"); p.SlowColumnsPerSweep != 39 {
		t.Errorf("%v slow block-columns, want 39", p.SlowColumnsPerSweep)
	}
}

// Replaying the moves brings the columns of each pair to its device, in the numbering of the output.
func TestPlanJSONReplays(t *testing.T) {
	p := executePlanJSON(t, "--devices", "4", "--group", "2", "--sweeps", "2", "--strategy", "brentluk")
	at := map[int]int{}
	for i, s := range p.Steps {
		if s.Sweep != i/7+1 || s.Step != i%7+1 {
			t.Fatalf("step %d is called sweep %d, step %d", i, s.Sweep, s.Step)
		}
		for _, pair := range s.Pairs {
			for _, column := range pair[:2] {
				if column < 1 || column > 8 || pair[2] < 0 || pair[2] > 3 {
					t.Fatalf("pair %v", pair)
				}
				if i > 0 && at[column] != pair[2] {
					t.Fatalf("sweep %d, step %d: column %d is on device %d, not %d", s.Sweep, s.Step, column, at[column],
						pair[2])
				}
				at[column] = pair[2]
			}
		}
		for _, m := range s.Moves {
			if at[m.Column] != m.From || m.Slow != (m.From/2 != m.To/2) {
				t.Fatalf("sweep %d, step %d: move %+v", s.Sweep, s.Step, m)
			}
			at[m.Column] = m.To
		}
	}
}

// Memory and bytes of 4096×4096 on 4 devices, counted by hand; a wide matrix is the same as its transpose.
func TestPlanFigures(t *testing.T) {
	const word = 8
	args := []string{"--devices", "4", "--sweeps", "3", "--block", "32"}
	all64 := slices.Concat(args, []string{"--shape", "4096x4096", "--precision", "float64"})
	p := executePlanJSON(t, all64...)
	if want := int64(7 * (4096 + 4096) * 512 * word); *p.BytesPerDevice != want {
		t.Errorf("%d bytes sent, want %d", *p.BytesPerDevice, want)
	}
	c := int64(node.NewLayout(4096, 4, 32, 0).PerMacro)
	checkPart(t, "memory of a device", *p.MemoryPerDevice, 3*(4096+4096)*512*word+2*c*64*64*word)
	// The matrix, U, V and how far V is from orthonormal (--v solve) when the block-columns, which have no V,
	// are gone; four ranks; and the devices, with V.
	matrix, columns := int64(4096*4096*word), int64(3*4096*512*word+2*c*64*64*word)
	narrow, wider := int64(4096*(2048+32+8*32)*word), int64(4096*(2048+64+8*64)*word)
	checkPart(t, "memory of a host", *p.MemoryPerHost,
		4*matrix-4*columns+4*(64<<20)+4**p.MemoryPerDevice)
	// Two sets of reflectors, U and V, and the block-columns with V.
	checkPart(t, "graded, of a host", *p.GradedPerHost,
		2*matrix+2*narrow+wider+4*(64<<20)+4**p.MemoryPerDevice)
	p = executePlanJSON(t, append(all64, "--scheme", "nested", "--vectors", "none")...)
	checkPart(t, "nested: memory of a device", *p.MemoryPerDevice, 3*4096*512*word+2*1024*1024*word)
	checkPart(t, "nested: memory of a host", *p.MemoryPerHost, matrix+4*(64<<20)+4**p.MemoryPerDevice)
	gpus := append(args, "--shape", "4096x4096", "--group", "2", "--backend", "cuda")
	p = executePlanJSON(t, append(gpus, "--precision", "float64")...)
	checkPart(t, "GPUs: memory of a host of two", *p.MemoryPerHost, 2*(64<<20))
	// V and its reflectors there; what is on its way, and the workspace of the primitives.
	// Two blocks leave, and two times the columns that a product shows arrive.
	work := int64(64+2*256+2*1024)*4096*word + 4096*6<<10 + 3*4096*4096/2/4 + cuda.Limits().Workspace
	checkPart(t, "GPUs: memory of a device", *p.MemoryPerDevice, (3*matrix+wider)/4+work)
	// V carried, the matrix read again.
	checkPart(t, "GPUs: the least of a device", *p.LeastPerDevice,
		3*(4096+4096)*512*word+4096*9<<10/4+cuda.Limits().Workspace)
	sent := *p.BytesPerDevice
	// X, U, V and three matrices more where sweeps in float32 are refined. These send half, and nothing of V.
	p = executePlanJSON(t, gpus...)
	checkPart(t, "GPUs, float32 first: memory of a device", *p.MemoryPerDevice, 6*matrix/4+work)
	if *p.BytesPerDevice != sent/4 {
		t.Errorf("%d bytes sent in float32, %d in float64", *p.BytesPerDevice, sent)
	}
	p = executePlanJSON(t, append(args, "--shape", "4096x4096", "--precondition", "qrcp-lq")...)
	if *p.MemoryPerHost != *p.GradedPerHost {
		t.Errorf("preconditioned: %d, graded %d", *p.MemoryPerHost, *p.GradedPerHost)
	}
	// A tall matrix: what the hosts hold decides, which the devices do not see.
	p = executePlanJSON(t, append(args, "--shape", "7230000x306")...)
	checkPart(t, "tall: memory of a host", *p.MemoryPerHost, 7230000*306*word+4*(64<<20))
	if *p.MemoryPerDevice > 4<<20 || *p.GradedPerDevice < 7230000*306*word/4 {
		t.Errorf("tall: memory of a device %d, graded %d", *p.MemoryPerDevice, *p.GradedPerDevice)
	}
	tall := executePlanJSON(t, append(args, "--shape", "5000x300", "--vectors", "both")...)
	wide := executePlanJSON(t, append(args, "--shape", "300x5000", "--vectors", "both")...)
	if *tall.MemoryPerDevice != *wide.MemoryPerDevice || *tall.MemoryPerHost != *wide.MemoryPerHost ||
		*tall.BytesPerDevice != *wide.BytesPerDevice {
		t.Errorf("5000×300 takes %d, 300×5000 %d bytes", *tall.MemoryPerDevice, *wide.MemoryPerDevice)
	}
	if p := executePlanJSON(t, args...); p.BytesPerDevice != nil || p.MemoryPerDevice != nil ||
		p.SecondsPerSweep != nil {
		t.Errorf("figures without a shape: %+v", p)
	}
	// 10·n³ flops on 4 devices of 100 GFLOP/s.
	p = executePlanJSON(t, append(args, "--shape", "1000x1000", "--gflops", "100")...)
	if math.Abs(*p.SecondsPerSweep-10e9/400e9) > 1e-12 {
		t.Errorf("%v s a sweep", *p.SecondsPerSweep)
	}
	for _, shape := range []string{"0x5", "5x0", "1x1", "3x2"} {
		executePlanJSON(t, append(args, "--shape", shape)...)
	}
}

// checkPart compares bytes with what was counted by hand: alignment and small factors add up to two percent.
func checkPart(t *testing.T, what string, bytes, counted int64) {
	t.Helper()
	if x := float64(bytes) / float64(counted); x < 0.999 || x > 1.02 {
		t.Errorf("%s: %d bytes, counted %d", what, bytes, counted)
	}
}

// Plan names the strategy that a run on so many devices takes, and knows how many p-steps it has.
func TestPlanOfManyDevices(t *testing.T) {
	for _, devices := range []int{68, 69, 161, 200, 256} {
		for precondition, norms := range map[string]jacobi.Norms{"none": jacobi.AnyNorms,
			"qrcp-lq": jacobi.Falling} {
			c := jacobi.Config{Problem: jacobi.Problem{Norms: norms}}
			c.Strategy = jacobi.AutoStrategy
			want := c.PivotStrategy(devices)
			p := executePlanJSON(t, "--devices", strconv.Itoa(devices), "--precondition", precondition)
			table, err := strategy.New(want, 2*devices)
			if err != nil {
				t.Fatal(err)
			}
			if p.Strategy != want || p.PhasesPerSweep != float64(len(table.Steps)) {
				t.Errorf("%d devices, %s: plan has %s with %g p-steps, a run has %s with %d", devices,
					precondition, p.Strategy, p.PhasesPerSweep, want, len(table.Steps))
			}
		}
	}
}

func TestPlanText(t *testing.T) {
	out, code, err := executePlan("--devices", "2", "--group", "1", "--sweeps", "2", "--shape", "64x64",
		"--vectors", "none", "--block", "16", "--gflops", "1", "--steps")
	want := `rev-rowcyc of order 4, devices 2, groups 2, sweeps 2, objective phases
phases a sweep         3.00, of these slow 3.00
block-columns a sweep  6.00, of these slow 6.00
sent a device, sweep   24576 bytes (0.02344 MiB)
  to other groups      24576 bytes (0.02344 MiB)
memory of a device     40960 bytes (0.03906 MiB)
memory of a host       67166208 bytes (64.05 MiB)
  if it is graded      67206656 bytes (64.09 MiB), of a device 40960 bytes (0.03906 MiB)
arithmetic of a sweep  0.000786 s at 1 GFLOP/s a device
seconds                unknown: no rates of these devices: on one of them type jmpi bench ` +
		`--shape 2048x2048 --rates FILE, then add --rates FILE here
sweep 1 step 1  2-3@0 1-4@1
        moves   3:0>1! 4:1>0!
`
	if !strings.HasPrefix(out, want) || code != exitDone || strings.Count(out, "moves") != 6 {
		t.Errorf("exit code %d, %v, prints\n%s", code, err, out)
	}
}

func TestPlanNetworks(t *testing.T) {
	hosts := planFile(t, "# two nodes\na slots=2\nb slots=2\n")
	if p := executePlanJSON(t, "--hostfile", hosts); p.SlowPhasesPerSweep != 3.5 {
		t.Errorf("hostfile: %v slow phases", p.SlowPhasesPerSweep)
	}
	if p := executePlanJSON(t, "--hostfile", hosts, "--devices", "2"); p.SlowPhasesPerSweep != 0 ||
		p.PhasesPerSweep != 3 {
		t.Errorf("two devices of the hostfile: %+v", p)
	}
	levels := planFile(t, "level node 1\nlevel net 9\ngroup a 2\ngroup b 2\n")
	if p := executePlanJSON(t, "--network", levels, "--objective", "link"); p.SlowPhasesPerSweep != 3.5 {
		t.Errorf("network file: %v slow phases", p.SlowPhasesPerSweep)
	}
	t.Setenv("JMPI_DEVICES", "4")
	t.Setenv("JMPI_GROUP", "2")
	if p := executePlanJSON(t); p.SlowPhasesPerSweep != 3.5 {
		t.Errorf("from the environment: %v slow phases", p.SlowPhasesPerSweep)
	}
}

func TestPlanRefuses(t *testing.T) {
	hosts := planFile(t, "a slots=2\n")
	for _, c := range []struct {
		args string
		code int
		say  string
	}{
		{"", exitUsage, "--devices"},
		{"--nodes 2", exitUsage, "--gpus-per-node"},
		{"--gpus-per-node 2", exitUsage, "--nodes"},
		{"--nodes 2 --gpus-per-node 2 --devices 3", exitUsage, "--devices"},
		{"--nodes 2 --gpus-per-node 2 --group 2", exitUsage, "exclude"},
		{"--nodes 9000 --gpus-per-node 8", exitUsage, "at most"},
		{"--nodes 9223372036854775807 --gpus-per-node 2", exitUsage, "9223372036854775807"},
		{"--nodes 4294967296 --gpus-per-node 4294967296", exitUsage, "at most"},
		{"--rates H200 --devices 2", exitUsage, "--shape"},
		{"--rates /nowhere/rates", exitInput, "H200"},
		{"--rates H200 --shape 4x4 --backend cpu", exitUsage, "--backend"},
		{"--shape 4x4 --cond -1", exitUsage, "--cond"},
		{"--shape 4x4 --cond NaN", exitUsage, "--cond"},
		{"--shape 4x4 --rates /nowhere/rates", exitInput, "/nowhere/rates"},
		{"--shape 4x4 --rates " + hosts, exitInput, "rates"},
		{"--shape 4x4 --kind smooth", exitUsage, "smooth"},
		{"--devices -1", exitUsage, "--devices -1"},
		{"--devices 100000", exitUsage, "--devices 100000"},
		{"--devices 8192 --periodic", exitUsage, "--periodic"},
		{"--nodes 512 --gpus-per-node 8 --steps", exitUsage, "--steps"},
		{"--devices 2 --group -1", exitUsage, "--group"},
		{"--devices 2 --group 1 --hostfile " + hosts, exitUsage, "exclude"},
		{"--devices 3 --hostfile " + hosts, exitUsage, "has 2"},
		{"--devices 2 --sweeps 0", exitUsage, "--sweeps"},
		{"--devices 2 --sweeps 99999999", exitUsage, "at most 1000"},
		{"--devices 2 --strategy fast", exitUsage, "fast"},
		{"--devices 3 --strategy br", exitUsage, "power of two"},
		{"--devices 2 --scheme deep", exitUsage, "--scheme"},
		{"--devices 2 --vectors w", exitUsage, "--vectors"},
		{"--devices 2 --objective time", exitUsage, "time"},
		{"--devices 2 --block -4", exitUsage, "--block"},
		{"--devices 2 --gflops 5", exitUsage, "--shape"},
		{"--devices 2 --gflops -5 --shape 4x4", exitUsage, "--gflops"},
		{"--devices 2 --gflops NaN --shape 4x4", exitUsage, "--gflops"},
		{"--devices 2 --gflops Inf --shape 4x4", exitUsage, "--gflops"},
		{"--devices 2 --shape 4", exitUsage, "--shape"},
		{"--devices 2 --shape 2000000000x500000000", exitUsage, "no machine"},
		{"--devices 2 --v qr", exitUsage, "--v"},
		{"--devices 2 --precondition lq", exitUsage, "--precondition"},
		{"--devices 2 --backend gpu", exitUsage, "--backend"},
		{"--devices 2 --shape= ", exitUsage, "--shape is empty"},
		{"--devices 2 more", exitUsage, "more"},
		{"--hostfile /nowhere/hosts", exitInput, "/nowhere/hosts"},
		{"--network " + hosts, exitInput, "line 1"},
		{"--hostfile " + t.TempDir(), exitInput, "directory"},
	} {
		out, code, err := executePlan(strings.Fields(c.args)...)
		if code != c.code || err == nil || !strings.Contains(err.Error(), c.say) || out != "" {
			t.Errorf("plan %s: exit code %d, error %v, prints %q; want %d and %q", c.args, code, err, out, c.code,
				c.say)
		}
	}
}
