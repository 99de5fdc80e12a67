package devices

import (
	"fmt"
	"slices"
	"strings"

	"jmpi/dist/comm"
)

// sight is what one rank sees: its node, and the GPUs that the driver shows it (CUDA_VISIBLE_DEVICES
// and Slurm may hide some).
type sight struct {
	Node string   `json:"node"`
	GPUs []string `json:"gpus"` // UUIDs, in the driver's order
	Why  string   `json:"why"`  // why there are none
}

// assign returns, for each rank, the indices of those GPUs it sees that it drives.
//
// The ranks of a node that see the same GPUs share them: rank r of L gets the GPUs from ⌊G·r/L⌋ to
// ⌊G·(r+1)/L⌋−1 of G, or the r-th K of them if K = perRank is not 0. A rank that sees GPUs of its own
// (srun --gpus-per-task) shares with nobody. Ranks that see one GPU each take that one, also where it
// is the same. Anything else that gives a rank no GPU is a *comm.Failure that says what to change;
// all ranks come to the same.
func assign(ranks []sight, perRank int) ([][]int, error) {
	for rank, s := range ranks {
		if len(s.GPUs) == 0 {
			return nil, &comm.Failure{Rank: rank, Kind: comm.BadResource,
				Text: fmt.Sprintf("no GPU on %s: %s", s.Node, s.Why)}
		}
	}
	assigned := make([][]int, len(ranks))
	for _, group := range sharing(ranks) {
		node, gpus := ranks[group[0]].Node, len(ranks[group[0]].GPUs)
		if gpus == 1 && perRank <= 1 {
			for _, rank := range group {
				assigned[rank] = []int{0}
			}
			continue
		}
		if len(group)*max(perRank, 1) > gpus {
			return nil, &comm.Failure{Rank: group[0], Kind: comm.BadResource,
				Text: tooFew(node, gpus, len(group), perRank)}
		}
		for r, rank := range group {
			first, end := gpus*r/len(group), gpus*(r+1)/len(group)
			if perRank > 0 {
				first, end = perRank*r, perRank*(r+1)
			}
			for i := first; i < end; i++ {
				assigned[rank] = append(assigned[rank], i)
			}
		}
	}
	return assigned, nil
}

// sharing returns the ranks in groups of those that see the same GPUs on the same node, in the
// order of the ranks.
func sharing(ranks []sight) [][]int {
	index := map[string]int{}
	var groups [][]int
	for rank, s := range ranks {
		key := s.Node + "\n" + strings.Join(s.GPUs, "\n")
		i, known := index[key]
		if !known {
			i = len(groups)
			index[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], rank)
	}
	return groups
}

// tooFew says how to start the ranks of a node so that its GPUs suffice.
func tooFew(node string, gpus, ranks, perRank int) string {
	text := fmt.Sprintf("%s has %d GPUs for %d ranks", node, gpus, ranks)
	if perRank > 1 {
		text += fmt.Sprintf(" of %d devices (--devices-per-rank)", perRank)
	}
	if fit := gpus / max(perRank, 1); fit > 0 {
		return fmt.Sprintf("%s: start at most %d ranks there (mpirun --map-by ppr:%d:node, srun "+
			"--ntasks-per-node=%d)", text, fit, fit, fit)
	}
	return fmt.Sprintf("%s: --devices-per-rank can be %d at most", text, gpus)
}

// shared lists the GPUs that more than one rank drives, each as "GPU-… by ranks 0, 1", in the order
// of the ranks.
func shared(ranks []sight, assigned [][]int) []string {
	by := map[string][]string{}
	var order []string
	for rank, s := range ranks {
		for _, i := range assigned[rank] {
			uuid := s.GPUs[i]
			if len(by[uuid]) == 0 {
				order = append(order, uuid)
			}
			by[uuid] = append(by[uuid], fmt.Sprint(rank))
		}
	}
	order = slices.DeleteFunc(order, func(uuid string) bool { return len(by[uuid]) == 1 })
	for i, uuid := range order {
		order[i] = fmt.Sprintf("%s by ranks %s", uuid, strings.Join(by[uuid], ", "))
	}
	return order
}
