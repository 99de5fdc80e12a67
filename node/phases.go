package node

import (
	"time"

	"jmpi/kernels"
)

// Phases are the seconds and floating-point operations of a device at the outermost level of its recursion.
type Phases struct {
	Compute  float64 // seconds of queueing the pivot problems, and of waiting for their end
	Exchange float64 // seconds of waiting for messages
	// The parts of Compute, zero unless Config.Profile.
	Shorten, Inner, Postmultiply                float64
	ShortenFlops, InnerFlops, PostmultiplyFlops float64
}

// Add adds the figures of another device.
func (p *Phases) Add(q Phases) {
	p.Compute += q.Compute
	p.Exchange += q.Exchange
	p.Shorten += q.Shorten
	p.Inner += q.Inner
	p.Postmultiply += q.Postmultiply
	p.ShortenFlops += q.ShortenFlops
	p.InnerFlops += q.InnerFlops
	p.PostmultiplyFlops += q.PostmultiplyFlops
}

// count adds the operations of a batch: a Gram matrix of order k is symmetric, m·k² operations; a rotation
// takes three products of columns of the factor, 6·k, and changes two columns of R and of T, 16·k.
func (p *Phases) count(b *kernels.Batch) {
	for i, g := range b.G {
		k := float64(g.Order())
		p.ShortenFlops += float64(g.P.M) * k * k
		p.InnerFlops += 22 * k * float64(b.Tally[i].Rotations)
		if b.Tally[i].Changed != 0 {
			p.PostmultiplyFlops += 2 * float64(g.P.M) * k * k
			if b.V != nil {
				p.PostmultiplyFlops += 2 * float64(b.V[i].P.M) * k * k
			}
		}
	}
}

// clock tells the phases of one batch apart. It is nil where they are not told apart: in the inner levels,
// and without Profile, since the end of a phase is known only when the device has nothing left to do.
type clock struct {
	be    kernels.Backend
	start time.Time
}

func (r *recursion) clock(lev int) *clock {
	if lev > 0 || !r.profile {
		return nil
	}
	return &clock{be: r.be, start: time.Now()}
}

// stop ends a phase: it waits for the device and adds the seconds of the phase to its sum.
func (c *clock) stop(sum *float64) error {
	if c == nil {
		return nil
	}
	if err := c.be.Sync(); err != nil {
		return err
	}
	now := time.Now()
	*sum += now.Sub(c.start).Seconds()
	c.start = now
	return nil
}
