package topology

import (
	"bufio"
	"fmt"
	"io"
)

// WriteText writes the plan for people to read, columns 1-based and devices 0-based as on the
// command line. Each p-step has a line with its pairs and their devices, and one with the moves
// after it, "column:from>to", an exclamation mark where the move is slow:
//
//	sweep 1 step 1  1-8@0 2-7@1
//	        moves   7:1>0! 8:0>1!
func (p *Plan) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, step := range p.Steps {
		fmt.Fprintf(b, "sweep %d step %d ", step.Sweep+1, step.Step+1)
		for i, pair := range step.Pairs {
			fmt.Fprintf(b, " %d-%d@%d", pair[0]+1, pair[1]+1, step.Device[i])
		}
		fmt.Fprint(b, "\n        moves  ")
		for _, m := range step.Moves {
			fmt.Fprintf(b, " %d:%d>%d", m.Column+1, m.From, m.To)
			if m.Slow {
				fmt.Fprint(b, "!")
			}
		}
		fmt.Fprintln(b)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("topology: write plan: %w", err)
	}
	return nil
}
