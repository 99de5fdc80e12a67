package devices

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sees returns what a rank sees of a node with these GPUs.
func sees(node string, gpus ...int) sight {
	s := sight{Node: node}
	for _, i := range gpus {
		s.GPUs = append(s.GPUs, fmt.Sprintf("%s-%d", node, i))
	}
	return s
}

func TestAssign(t *testing.T) {
	a4, a2, a1 := sees("a", 0, 1, 2, 3), sees("a", 0, 1), sees("a", 0)
	b4 := sees("b", 0, 1, 2, 3)
	none := sight{Node: "b", Why: "no driver"}
	for _, test := range []struct {
		name    string
		ranks   []sight
		perRank int
		want    [][]int
		say     string // in the error
	}{
		{"one rank, all GPUs", []sight{a4}, 0, [][]int{{0, 1, 2, 3}}, ""},
		{"two ranks share", []sight{a4, a4}, 0, [][]int{{0, 1}, {2, 3}}, ""},
		{"a rank each", []sight{a4, a4, a4, a4}, 0, [][]int{{0}, {1}, {2}, {3}}, ""},
		{"three ranks, four GPUs", []sight{a4, a4, a4}, 0, [][]int{{0}, {1}, {2, 3}}, ""},
		{"two nodes", []sight{a4, a4, b4, b4}, 0, [][]int{{0, 1}, {2, 3}, {0, 1}, {2, 3}}, ""},
		{"two nodes, ranks dealt out", []sight{a4, b4, a4, b4}, 0, [][]int{{0, 1}, {0, 1}, {2, 3}, {2, 3}}, ""},
		{"nodes that differ", []sight{a2, b4}, 0, [][]int{{0, 1}, {0, 1, 2, 3}}, ""},
		{"one of four", []sight{a4}, 1, [][]int{{0}}, ""},
		{"two ranks of one", []sight{a4, a4}, 1, [][]int{{0}, {1}}, ""},
		{"two ranks of two", []sight{a4, a4}, 2, [][]int{{0, 1}, {2, 3}}, ""},
		{"srun --gpus-per-task=1", []sight{sees("a", 0), sees("a", 1)}, 0, [][]int{{0}, {0}}, ""},
		{"srun --gpus-per-task=2", []sight{sees("a", 0, 1), sees("a", 2, 3)}, 0, [][]int{{0, 1}, {0, 1}}, ""},
		{"the same single GPU", []sight{a1, a1}, 0, [][]int{{0}, {0}}, ""},
		{"the same single GPU, asked for", []sight{a1, a1}, 1, [][]int{{0}, {0}}, ""},
		{"more ranks than GPUs", []sight{a2, a2, a2, a2}, 0, nil,
			"a has 2 GPUs for 4 ranks: start at most 2 ranks there (mpirun --map-by ppr:2:node"},
		{"more devices than GPUs", []sight{a4, a4, a4}, 2, nil,
			"a has 4 GPUs for 3 ranks of 2 devices (--devices-per-rank): start at most 2"},
		{"more devices of one rank than GPUs", []sight{a2}, 3, nil, "--devices-per-rank can be 2 at most"},
		{"two devices on a single GPU", []sight{a1}, 2, nil, "--devices-per-rank can be 1 at most"},
		{"a rank without", []sight{a4, none}, 0, nil, "rank 1: no GPU on b: no driver"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := assign(test.ranks, test.perRank)
			if test.say != "" {
				if err == nil || !strings.Contains(err.Error(), test.say) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("error %v, want one line that says %q", err, test.say)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// On nodes where all ranks see all GPUs, every rank has a GPU, no GPU two ranks, and without
// --devices-per-rank none is idle.
func TestAssignSharesFairly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ranks []sight
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		total := 0
		for node := range nodes {
			gpus := rapid.IntRange(1, 9).Draw(t, "GPUs")
			total += gpus
			list := make([]int, gpus)
			for i := range list {
				list[i] = i
			}
			for range rapid.IntRange(1, gpus).Draw(t, "ranks") {
				ranks = append(ranks, sees(fmt.Sprint("n", node), list...))
			}
		}
		ranks = rapid.Permutation(ranks).Draw(t, "order")
		assigned, err := assign(ranks, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for rank, mine := range assigned {
			if len(mine) == 0 || !slices.IsSorted(mine) {
				t.Fatalf("rank %d has %v", rank, mine)
			}
			for _, i := range mine {
				seen[ranks[rank].GPUs[i]] = true
				total--
			}
		}
		if total != 0 || len(shared(ranks, assigned)) != 0 {
			t.Fatalf("%d GPUs idle or in several hands: %v", total, assigned)
		}
	})
}

func TestSharedGPUsAreNamed(t *testing.T) {
	one := sees("a", 0)
	got := shared([]sight{one, one, sees("b", 0)}, [][]int{{0}, {0}, {0}})
	if want := []string{"a-0 by ranks 0, 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
