package comm

import (
	"encoding/json"
	"fmt"
	"math"
)

// clockRounds is how often the ranks tell each other their times. The best of the rounds count.
const clockRounds = 16

// Offset tells how far the clock of this rank is ahead of that of rank 0, in the units of now, and the most
// by which that may be wrong. Ranks of one node have one clock. It is collective.
//
// No rank has the times of all before all have begun to tell them. So in each round rank 0 begins before this
// rank ends, and this one begins before rank 0 ends. Each bounds the offset from one side.
func Offset(c Comm, now func() int64) (offset, uncertain int64, err error) {
	type mark struct {
		Begin, End int64 // of this round, and of the one before
		Node       string
	}
	mine, zero := mark{Node: c.Node()}, mark{}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	for round := range clockRounds + 1 { // each tells the end of the one before
		before := mine.Begin
		mine.Begin = now()
		b, err := json.Marshal(mine)
		if err != nil {
			return 0, 0, fmt.Errorf("comm: clock: %w", err)
		}
		parts, err := c.Allgather(b)
		if err != nil {
			return 0, 0, fmt.Errorf("comm: clock: %w", err)
		}
		mine.End = now()
		if err := json.Unmarshal(parts[0], &zero); err != nil {
			return 0, 0, fmt.Errorf("comm: clock: %w", err)
		}
		if high = min(high, mine.End-zero.Begin); round > 0 {
			low = max(low, before-zero.End)
		}
	}
	if zero.Node == mine.Node {
		return 0, 0, nil
	}
	return low + (high-low)/2, (high - low + 1) / 2, nil
}
