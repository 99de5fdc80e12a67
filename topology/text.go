package topology

import (
	"bufio"
	"fmt"
	"io"
	"strings"
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
		pairs, moves := step.Text()
		fmt.Fprintf(b, "sweep %d step %d %s\n", step.Sweep+1, step.Step+1, blankBefore(pairs))
		fmt.Fprintf(b, "        moves  %s\n", blankBefore(moves))
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("topology: write plan: %w", err)
	}
	return nil
}

// blankBefore puts a blank before a text that is not empty.
func blankBefore(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}

// Text returns the pairs with their devices, and the moves, as WriteText writes them.
func (s *Step) Text() (pairs, moves string) {
	var words []string
	for i, pair := range s.Pairs {
		words = append(words, fmt.Sprintf("%d-%d@%d", pair[0]+1, pair[1]+1, s.Device[i]))
	}
	pairs, words = strings.Join(words, " "), nil
	for _, m := range s.Moves {
		word := fmt.Sprintf("%d:%d>%d", m.Column+1, m.From, m.To)
		if m.Slow {
			word += "!"
		}
		words = append(words, word)
	}
	return pairs, strings.Join(words, " ")
}

// mostNumber bounds the numbers of columns and devices that ParseStep takes.
const mostNumber = 1 << 20

// ParseStep is the inverse of Text. Sweep and Step are not in the texts, and stay 0.
func ParseStep(pairs, moves string) (s Step, err error) {
	for _, word := range strings.Fields(pairs) {
		var p, q, device int
		n, err := fmt.Sscanf(word, "%d-%d@%d", &p, &q, &device)
		if err != nil || n != 3 || word != fmt.Sprintf("%d-%d@%d", p, q, device) || p < 1 || q <= p ||
			device < 0 || max(q, device) > mostNumber {
			return Step{}, fmt.Errorf("topology: %q is not a pair on a device, as 1-8@0", word)
		}
		s.Pairs, s.Device = append(s.Pairs, [2]int{p - 1, q - 1}), append(s.Device, device)
	}
	for _, word := range strings.Fields(moves) {
		m := Move{}
		text, slow := strings.CutSuffix(word, "!")
		n, err := fmt.Sscanf(text, "%d:%d>%d", &m.Column, &m.From, &m.To)
		if err != nil || n != 3 || text != fmt.Sprintf("%d:%d>%d", m.Column, m.From, m.To) || m.Column < 1 ||
			m.Column > mostNumber || min(m.From, m.To) < 0 || max(m.From, m.To) > mostNumber {
			return Step{}, fmt.Errorf("topology: %q is not a move; 7:1>0! is a slow one", word)
		}
		m.Column, m.Slow = m.Column-1, slow
		s.Moves = append(s.Moves, m)
	}
	return s, nil
}
