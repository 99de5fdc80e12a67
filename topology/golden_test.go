package topology

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden plans")

// Plans that a person can review: who works on what, and who sends what to whom.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		strategy    string
		nodes, size int
		o           Options
	}{
		{"rev-rowcyc", 2, 2, Options{Sweeps: 2}},
		{"rev-rowcyc", 3, 2, Options{Sweeps: 1, Periodic: true}},
		{"mmstep", 2, 2, Options{Sweeps: 1, Objective: Columns}},
	} {
		g := c.nodes * c.size
		p := mustPlan(t, mustTable(t, c.strategy, 2*g), mustGroups(t, g, c.size), c.o)
		traffic := p.Traffic()
		var got bytes.Buffer
		fmt.Fprintf(&got, "%s of order %d on %d×%d devices, sweeps %d, periodic %v, objective %v: %d phases, %d "+
			"slow, %d slow block-columns\n", c.strategy, 2*g, c.nodes, c.size, c.o.Sweeps, c.o.Periodic, c.o.Objective,
			traffic.Phases, traffic.SlowPhases, traffic.SlowColumns)
		if err := p.WriteText(&got); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", fmt.Sprintf("%s_%dx%d.txt", c.strategy, c.nodes, c.size))
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s differs; if the change is meant, run with -update and review it:\n%s", file, got.Bytes())
		}
	}
}

// failing is a writer that takes some bytes and then fails.
type failing int

func (f *failing) Write(b []byte) (int, error) {
	if *f -= failing(len(b)); *f < 0 {
		return 0, os.ErrClosed
	}
	return len(b), nil
}

func TestWriteTextReportsErrors(t *testing.T) {
	p := mustPlan(t, mustTable(t, "rev-rowcyc", 16), mustGroups(t, 8, 2), Options{Sweeps: 3})
	full := failing(4096)
	if err := p.WriteText(&full); err == nil {
		t.Error("no error from a full disk")
	}
}

func ExamplePlan_WriteText() {
	var t testing.T
	p := mustPlan(&t, mustTable(&t, "rev-rowcyc", 4), mustGroups(&t, 2, 1), Options{Sweeps: 1})
	if err := p.WriteText(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// sweep 1 step 1  2-3@0 1-4@1
	//         moves   3:0>1! 4:1>0!
	// sweep 1 step 2  2-4@0 1-3@1
	//         moves   1:1>0! 4:0>1!
	// sweep 1 step 3  3-4@1 1-2@0
	//         moves   2:0>1! 4:1>0!
}
