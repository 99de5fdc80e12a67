package jacobi

import (
	"fmt"
	"time"

	"jmpi/dist/exchange"
	"jmpi/internal/trace"
	"jmpi/kernels"
	"jmpi/node"
	"jmpi/strategy"
	"jmpi/topology"
)

// runner drives one device through the macro steps of a plan. It queues them. Its host waits for messages
// between ranks alone, and for the hosts of other devices to queue what it needs.
type runner struct {
	id       int // of the device, among all
	dev      *node.Device
	program  *node.Program
	exchange *exchange.Exchange
	recorder *trace.Recorder
	step     int // sub-step of the sweep, from 0
	pieces   int // in which a macro block-column travels

	parity   int            // of the next exchange, see exchange.Label
	incoming []arrival      // of the macro block-column that is landing or has landed last
	outgoing []departure    // of the one that left last
	free     []kernels.Mark // when these are done the slot of what left before is free
	fast     int64          // bytes received in this sweep over fast links
	slow     int64          // and over slow ones
}

// arrival is one piece of a landing macro block-column.
type arrival struct {
	column, i0, i1 int // narrow block-columns i0 ≤ i < i1 within the macro block-column
	messages       []*exchange.Message
}

// departure is one piece of a macro block-column that leaves.
type departure struct {
	column, to int
	begin      time.Time
	messages   []*exchange.Message
}

// route is what one device does in a macro step.
type route struct {
	out, in *topology.Move // what leaves and what arrives after it, nil for nothing
	mine    map[int]bool   // the macro block-columns of its pair
}

func (r *runner) route(s topology.Step) route {
	t := route{mine: map[int]bool{}}
	for i, d := range s.Device {
		if d == r.id {
			t.mine[s.Pairs[i][0]], t.mine[s.Pairs[i][1]] = true, true
		}
	}
	for i := range s.Moves {
		if s.Moves[i].From == r.id {
			t.out = &s.Moves[i]
		}
		if s.Moves[i].To == r.id {
			t.in = &s.Moves[i]
		}
	}
	return t
}

// macroStep queues the sub-steps of one macro step, calling done after each, and starts the exchange
// after them.
func (r *runner) macroStep(s topology.Step, done func()) error {
	t := r.route(s)
	landing, err := r.openLanding(t.in)
	if err != nil {
		return err
	}
	fine := r.program.Macro[s.Step].Fine
	for i, pairs := range fine {
		leaving := -1
		if i == len(fine)-1 && t.out != nil {
			leaving = t.out.Column
		}
		if err := r.subStep(pairs, t, leaving); err != nil {
			return err
		}
		r.step++
		done()
	}
	if t.out != nil {
		r.dev.SetColumn(r.dev.Slot(t.out.Column), -1)
	}
	if t.in != nil {
		r.dev.SetColumn(landing.slot, t.in.Column)
		r.incoming = landing.arrivals
	}
	r.parity = 1 - r.parity
	return nil
}

// landing is the slot that receives a macro block-column.
type landing struct {
	slot     int
	arrivals []arrival
}

// openLanding posts the receives of the next exchange as soon as the landing slot is free.
func (r *runner) openLanding(in *topology.Move) (landing, error) {
	if in == nil {
		return landing{}, nil
	}
	if err := r.left(); err != nil {
		return landing{}, err
	}
	l := landing{slot: r.dev.Slot(-1)}
	if l.slot < 0 {
		return l, fmt.Errorf("jacobi: device %d has no landing slot for macro block-column %d", r.id, in.Column)
	}
	for i, cut := range r.cuts() {
		a := arrival{column: in.Column, i0: cut[0], i1: cut[1]}
		for k, p := range r.dev.Panels(l.slot, in.Column, cut[0], cut[1]).Panels() {
			if p.Bytes() > 0 {
				a.messages = append(a.messages, r.exchange.Receive(r.dev.Backend, in.From, in.To,
					exchange.Label{Column: in.Column, Piece: i, Kind: k, Parity: r.parity}, p, r.free))
				r.count(in.Slow, p)
			}
		}
		l.arrivals = append(l.arrivals, a)
	}
	return l, nil
}

func (r *runner) count(slow bool, p kernels.Panel) {
	if slow {
		r.slow += p.Bytes()
	} else {
		r.fast += p.Bytes()
	}
}

// subStep orthogonalizes this device's pairs of one sub-step. If macro block-column leaving ≥ 0 goes to
// another device afterwards, its pieces are finished one by one and each is sent while the next is computed.
func (r *runner) subStep(pairs []strategy.Pair, t route, leaving int) error {
	c := r.program.Layout.PerMacro
	var mine []strategy.Pair
	crosses := true
	for _, p := range pairs {
		if t.mine[p.P/c] && t.mine[p.Q/c] {
			mine = append(mine, p)
			crosses = crosses && p.P/c != p.Q/c
		}
	}
	// The macro block-column that is worked through in order: the one that leaves, or the one that lands.
	lead := leaving
	if lead < 0 && len(r.incoming) > 0 {
		lead = r.incoming[0].column
	}
	if lead < 0 || !crosses {
		if err := r.arrive(mine); err != nil {
			return err
		}
		if err := r.compute(mine); err != nil {
			return err
		}
	}
	for i, cut := range r.cuts() {
		if lead >= 0 && crosses {
			some := within(mine, lead*c+cut[0], lead*c+cut[1])
			if err := r.arrive(some); err != nil {
				return err
			}
			if err := r.compute(some); err != nil {
				return err
			}
		}
		if leaving >= 0 {
			if err := r.depart(t.out, i, cut); err != nil {
				return err
			}
		}
	}
	return nil
}

// within returns the pairs that have an index from j0 to j1-1.
func within(pairs []strategy.Pair, j0, j1 int) (part []strategy.Pair) {
	for _, p := range pairs {
		if (j0 <= p.P && p.P < j1) || (j0 <= p.Q && p.Q < j1) {
			part = append(part, p)
		}
	}
	return part
}

// arrive makes the device wait for those narrow block-columns of the pairs that are landing.
func (r *runner) arrive(pairs []strategy.Pair) error {
	c := r.program.Layout.PerMacro
	var later []arrival
	for _, a := range r.incoming {
		if len(within(pairs, a.column*c+a.i0, a.column*c+a.i1)) == 0 {
			later = append(later, a)
			continue
		}
		if err := r.follow(a); err != nil {
			return err
		}
	}
	r.incoming = later
	return nil
}

// follow makes the device wait for a piece.
func (r *runner) follow(a arrival) error {
	marks, err := r.await("waiting for a block-column to arrive", a.messages)
	if err != nil || len(marks) == 0 {
		return err
	}
	return r.dev.Backend.Follow(marks...)
}

// depart sends a piece of the macro block-column that leaves when what is queued has finished it.
func (r *runner) depart(out *topology.Move, piece int, cut [2]int) error {
	ready, err := r.dev.Backend.Mark()
	if err != nil {
		return err
	}
	d := departure{column: out.Column, to: out.To, begin: time.Now()}
	for k, p := range r.dev.Panels(r.dev.Slot(out.Column), out.Column, cut[0], cut[1]).Panels() {
		if p.Bytes() > 0 {
			d.messages = append(d.messages, r.exchange.Send(r.dev.Backend, out.From, out.To,
				exchange.Label{Column: out.Column, Piece: piece, Kind: k, Parity: r.parity}, p, ready))
		}
	}
	r.outgoing = append(r.outgoing, d)
	return nil
}

// compute runs pairs on the device, which may go on after it.
func (r *runner) compute(pairs []strategy.Pair) error {
	begin := time.Now()
	defer func() { r.span("compute", begin) }()
	return r.dev.Run(r.step, pairs)
}

// sync waits for the device.
func (r *runner) sync() error {
	begin := time.Now()
	defer func() { r.span("compute", begin) }()
	return r.dev.Sync()
}

// span records what this device has done since begin.
func (r *runner) span(what string, begin time.Time) { r.recorder.Span(1+r.id, what, begin, time.Now()) }

// longest returns the length of the longest message that this device sends or receives.
func (r *runner) longest() (bytes int64) {
	for column := range r.program.Layout.Macros {
		for _, cut := range r.cuts() {
			for _, p := range r.dev.Panels(0, column, cut[0], cut[1]).Panels() {
				bytes = max(bytes, p.Bytes())
			}
		}
	}
	return bytes
}

// settle makes the device wait for everything under way.
func (r *runner) settle() error {
	for _, a := range r.incoming {
		if err := r.follow(a); err != nil {
			return err
		}
	}
	r.incoming = nil
	if err := r.left(); err != nil || len(r.free) == 0 {
		return err
	}
	return r.dev.Backend.Follow(r.free...)
}

// left waits until what leaves has left, or its copies are queued, and notes their marks.
func (r *runner) left() error {
	if len(r.outgoing) > 0 {
		r.free = nil
	}
	for _, d := range r.outgoing {
		marks, err := r.await("waiting for a block-column to leave", d.messages)
		if err != nil {
			return err
		}
		r.free = append(r.free, marks...)
		if r.recorder != nil {
			end := d.begin
			for _, q := range d.messages {
				if q.Ended().After(end) {
					end = q.Ended()
				}
			}
			r.recorder.Flight(1+r.id, fmt.Sprintf("block-column %d to device %d", d.column+1, d.to), d.begin, end)
		}
	}
	r.outgoing = nil
	return nil
}

func (r *runner) await(what string, messages []*exchange.Message) ([]kernels.Mark, error) {
	start := time.Now()
	defer func() {
		r.dev.Phases.Exchange += time.Since(start).Seconds()
		r.span("wait", start)
	}()
	return r.exchange.Wait(what, messages)
}

// batchRows is how many rows the pivots of a batch should have together where work is queued: 32 pivots of
// 16384 rows. With fewer, or shorter ones, a batch takes hardly less time.
var batchRows = 1 << 19

// Pieces returns in how many pieces a macro block-column of m rows travels. Each is a batch by itself.
func Pieces(m int, l node.Layout, limits kernels.Limits) int {
	pieces := min(l.PerMacro/l.Parts, exchange.Pieces)
	if !limits.HostMemory {
		pieces = min(pieces, l.PerMacro*m/batchRows)
	}
	return max(1, pieces)
}

// cuts returns the pieces of a macro block-column as ranges of its narrow block-columns, Parts of which stay
// together. In a sub-step across two macro block-columns every pair joins one of the i-th Parts with one of
// the (i xor x)-th, so aligned ranges stay together.
func (r *runner) cuts() [][2]int {
	parts := r.program.Layout.Parts
	blocks, k := r.program.Layout.PerMacro/parts, r.pieces
	cuts := make([][2]int, k)
	for i := range cuts {
		cuts[i] = [2]int{i * blocks / k * parts, (i + 1) * blocks / k * parts}
	}
	return cuts
}
