package comm

import (
	"sync"
	"testing"
	"time"
)

// onNode is a rank that says that it runs elsewhere.
type onNode struct {
	Comm
	node string
}

func (c onNode) Node() string { return c.node }

// The offset of a clock is found within the error that is told; ranks of one node have one clock.
func TestOffset(t *testing.T) {
	ranks := NewLocal(4)
	ahead := []int64{0, 3e9, -5e9, 7}
	nodes := []string{"a", "b", "c", "a"}
	begin := time.Now()
	var all sync.WaitGroup
	for i, c := range ranks {
		all.Go(func() {
			now := func() int64 { return int64(time.Since(begin)) + ahead[i] }
			offset, uncertain, err := Offset(onNode{c, nodes[i]}, now)
			want := ahead[i]
			if nodes[i] == nodes[0] {
				want = 0
			}
			if off := max(offset-want, want-offset); err != nil || off > uncertain || uncertain > 1e9 {
				t.Errorf("rank %d: %d ± %d, expected %d, error %v", i, offset, uncertain, want, err)
			}
		})
	}
	all.Wait()
}
