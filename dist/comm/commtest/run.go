package commtest

import (
	"fmt"
	"sync"
	"testing"

	"jmpi/dist/comm"
)

// A testCase is what every rank does; the first error ends the test.
type testCase struct {
	name string
	body func(c comm.Comm) error
}

var cases = []testCase{
	{"RankAndSize", rankAndSize},
	{"ZeroLength", zeroLength},
	{"Self", self},
	{"FirstInFirstOut", firstInFirstOut},
	{"ManyOutstanding", manyOutstanding},
	{"Ring", ring},
	{"FiveTags", fiveTags},
	{"ManyGoroutines", manyGoroutines},
	{"SendBufferIsFree", sendBufferIsFree},
	{"Lengths", lengths},
	{"AllreduceSum", allreduceSum},
	{"AllreduceMax", allreduceMax},
	{"Allgather", allgather},
	{"Bcast", bcast},
	{"CollectiveAmongMessages", collectiveAmongMessages},
	{"WrongArguments", wrongArguments},
	{"Do", do},
}

// Run runs all cases on these ranks of one communicator, a goroutine each, and stops at the first case
// that fails, since its messages may be under way still. If there are several ranks, one that
// fails aborts them, so that none waits for ever. A lone rank does not, because under MPI Abort ends the
// process before the failure is printed: the caller must abort when Run has failed.
func Run(t *testing.T, comms ...comm.Comm) {
	for _, test := range cases {
		ok := t.Run(test.name, func(t *testing.T) {
			for rank, err := range runCase(test, comms) {
				if err != nil {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
		})
		if !ok {
			return
		}
	}
}

// runCase returns the error of each of comms.
func runCase(test testCase, comms []comm.Comm) []error {
	errs := make([]error, len(comms))
	var ranks sync.WaitGroup
	for i, c := range comms {
		ranks.Go(func() {
			errs[i] = test.body(c)
			if errs[i] != nil && len(comms) > 1 {
				c.Abort(1)
			}
		})
	}
	ranks.Wait()
	return errs
}

// waitAll waits for every request and returns the first error.
func waitAll(requests []*comm.Request) error {
	var first error
	for i, r := range requests {
		if err := r.Wait(); err != nil && first == nil {
			first = fmt.Errorf("request %d of %d: %w", i, len(requests), err)
		}
	}
	return first
}
