package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/schollz/progressbar/v3"

	"jmpi/dist"
	"jmpi/dist/jacobi"
	"jmpi/internal/parallel"
)

// phaseName is a phase of a run.
type phaseName string

// The phases of a run, in their order.
const (
	starting  phaseName = "starting"
	reading   phaseName = "reading"
	preparing phaseName = "preparing"
	sweeping  phaseName = "sweeps"
	vectors   phaseName = "vectors"
	writing   phaseName = "writing"
	checking  phaseName = "checking"
)

// phasesInOrder are the phases, with the words of the log when each is over. That of the sweeps is over
// when the last has had its line.
var phasesInOrder = []struct {
	name phaseName
	over string
}{
	{starting, ""}, {reading, "read"}, {preparing, "prepared"}, {sweeping, ""}, {vectors, "vectors"},
	{writing, "written"}, {checking, "checked"},
}

// place is the place of a phase in the order.
func (n phaseName) place() int {
	for i, phase := range phasesInOrder {
		if phase.name == n {
			return i
		}
	}
	return len(phasesInOrder)
}

// before is about which part of a run comes before a phase. It serves for the bar alone.
var before = map[phaseName]float64{
	reading: 0.01, preparing: 0.05, sweeping: 0.2, vectors: 0.85, writing: 0.95, checking: 0.98,
}

const (
	// lineEvery is how long a log is silent at most while the run goes on.
	lineEvery = 30 * time.Second
	// expectedSweeps is how many sweeps there are, until something is known.
	expectedSweeps = 10
)

// progress shows a run, on rank 0: a line when a phase is over and for each sweep. Without a terminal there
// is a line at least every 30 s, on one a bar for the whole run instead. The other ranks have nil.
type progress struct {
	log   zerolog.Logger
	every time.Duration
	stop  func()

	mu       sync.Mutex
	phase    phaseName
	since    time.Time // the beginning of the phase; in sweeps, of the next
	said     time.Time // of the last line
	share    float64   // numbers that this rank is to read
	loaded   float64   // that it has read
	at       jacobi.Progress
	expected int     // sweeps
	shown    float64 // part of the run that the bar shows
	bar      *progressbar.ProgressBar
	told     teller // of jmpi watch
}

// newProgress begins to show a run.
func newProgress(log zerolog.Logger) *progress {
	now := time.Now()
	p := &progress{log: log, every: lineEvery, phase: starting, since: now, said: now}
	p.expected = expectedSweeps
	tick := time.Second
	if log.GetLevel() <= zerolog.InfoLevel && terminal(os.Stderr) {
		tick = 200 * time.Millisecond
		p.bar = progressbar.NewOptions(1000, progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(100*time.Millisecond))
		shownBar.show(p.bar)
	}
	p.start(tick)
	return p
}

// start looks every so often whether a line or the bar is due, until stop is called.
func (p *progress) start(tick time.Duration) {
	ticker := time.NewTicker(tick)
	over, gone := make(chan struct{}), make(chan struct{})
	p.stop = sync.OnceFunc(func() {
		ticker.Stop()
		close(over)
		<-gone
		if p.bar != nil {
			shownBar.show(nil)
		}
	})
	go parallel.Guard(func() {
		defer close(gone)
		for {
			select {
			case <-over:
				return
			case now := <-ticker.C:
				p.remind(now)
			}
		}
	}, process.fail)
}

// remind draws the bar, or logs how far the run is if there was no line for long.
func (p *progress) remind(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell(now)
	if p.bar != nil {
		p.draw()
		return
	}
	if now.Sub(p.said) < p.every {
		return
	}
	p.say(now, "running", p.where())
}

// where tells how far the phase is.
func (p *progress) where() func(*zerolog.Event) *zerolog.Event {
	return func(e *zerolog.Event) *zerolog.Event {
		e = e.Str("phase", string(p.phase))
		switch {
		case p.phase == reading && p.share > 0:
			e = e.Float64("percent", digits(100*min(1, p.loaded/p.share)))
		case p.phase == sweeping:
			e = e.Int("sweep", p.at.Sweep).Int("step", p.at.Step).Int("steps", p.at.Steps)
		}
		return e.Float64("seconds", digits(time.Since(started).Seconds()))
	}
}

// say logs a line.
func (p *progress) say(now time.Time, what string, fields func(*zerolog.Event) *zerolog.Event) {
	p.said = now
	fields(p.log.Info()).Msg(what)
}

// begin ends the phases before this one, each with its line. It does nothing if the run is further already.
func (p *progress) begin(phase phaseName) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(phase)
}

// advance is begin where the lock is held.
func (p *progress) advance(phase phaseName) {
	for place := p.phase.place(); place < phase.place(); place++ {
		now := time.Now()
		if line := phasesInOrder[place].over; line != "" {
			seconds := digits(now.Sub(p.since).Seconds())
			p.say(now, line, func(e *zerolog.Event) *zerolog.Event { return e.Float64("seconds", seconds) })
		}
		if phasesInOrder[place].name != sweeping { // after which the vectors begin when the last sweep is over
			p.since = now
		}
		p.phase, p.told.moved = "checked", now
		if place+1 < len(phasesInOrder) {
			p.phase = phasesInOrder[place+1].name
		}
	}
}

// read begins to read a matrix of so many numbers, of which this rank reads its share.
func (p *progress) read(numbers float64, ranks int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(reading)
	p.share = numbers / float64(ranks)
}

// end ends the last phase, that of the check.
func (p *progress) end() { p.begin("checked") }

// load counts what is read of the matrix.
func (p *progress) load(read func(dist.Part) error) func(dist.Part) error {
	if p == nil {
		return read
	}
	return func(x dist.Part) error {
		err := read(x)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.loaded += float64(x.M) * float64(x.N)
		if err == nil && p.loaded >= p.share {
			p.advance(preparing)
		}
		p.told.moved = time.Now()
		return err
	}
}

// step is called after each sub-step of a sweep.
func (p *progress) step(at jacobi.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(sweeping)
	p.at, p.phase = at, sweeping // it was not the last sweep if vectors were expected
	p.told.moved = time.Now()
}

// sweep logs what a sweep did.
func (p *progress) sweep(s jacobi.SweepInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(sweeping)
	p.at = jacobi.Progress{Sweep: s.Sweep + 1}
	p.expected = expect(s)
	p.since = time.Now()
	p.told.last, p.told.moved = &s, p.since
	p.say(p.since, "sweep", func(e *zerolog.Event) *zerolog.Event {
		e = e.Int("sweep", s.Sweep).Int64("rotations", s.Rotations).Int64("proper", s.Proper).
			Float64("active", digits(s.Active))
		if s.Cosine > 0 {
			e = e.Float64("cosine", digits(s.Cosine))
		}
		return e.Float64("seconds", digits(s.Seconds)).
			Float64("gflops", digits(float64(s.Flops)/s.Seconds/1e9)).
			Int64("bytes_fast", s.BytesFast).Int64("bytes_slow", s.BytesSlow)
	})
	if s.Proper == 0 {
		p.phase = vectors
	}
}

// expect returns how many sweeps there will be, by what the last one did. It converges quadratically at the
// end.
func expect(s jacobi.SweepInfo) int {
	switch {
	case s.Proper == 0:
		return s.Sweep
	case 4*s.Proper < s.Rotations:
		return s.Sweep + 1
	case 5*s.Proper < 3*s.Rotations:
		return s.Sweep + 2
	}
	return max(expectedSweeps, s.Sweep+3)
}

// part is how much of the run is done, as far as that can be guessed. It never shrinks.
func (p *progress) part() float64 {
	done := before[p.phase]
	switch {
	case p.phase == reading && p.share > 0:
		done += min(1, p.loaded/p.share) * (before[preparing] - done)
	case p.phase == sweeping:
		sweeps := float64(p.at.Sweep - 1)
		if p.at.Steps > 0 {
			sweeps += float64(p.at.Step) / float64(p.at.Steps)
		}
		done += min(1, max(0, sweeps)/float64(p.expected)) * (before[vectors] - done)
	}
	p.shown = max(p.shown, done)
	return p.shown
}

// draw draws the bar.
func (p *progress) draw() {
	text := string(p.phase)
	if p.phase == sweeping {
		text = fmt.Sprintf("sweep %d", p.at.Sweep)
	}
	shownBar.draw(p.bar, text, int(1000*p.part()))
}

// shownBar is the bar on the terminal.
var shownBar screen

// screen is a terminal with a bar in its last line, or without one.
type screen struct {
	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

// show puts a bar on the terminal, or takes it away. A bar that cannot be drawn is no reason to stop.
func (s *screen) show(bar *progressbar.ProgressBar) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		_ = s.bar.Clear()
	}
	s.bar = bar
}

// hide clears the line of the bar until it is drawn again: something is written to stdout.
func (s *screen) hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		_ = s.bar.Clear()
	}
}

// draw draws the bar if it is still shown.
func (s *screen) draw(bar *progressbar.ProgressBar, text string, thousandths int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == bar {
		bar.Describe(text)
		_ = bar.Set(min(thousandths, 999)) // a full bar is over
	}
}

// aboveBar writes lines where the bar is, which is drawn anew below them.
type aboveBar struct{ out io.Writer }

func (w aboveBar) Write(line []byte) (int, error) {
	shownBar.mu.Lock()
	defer shownBar.mu.Unlock()
	if shownBar.bar != nil {
		_ = shownBar.bar.Clear()
	}
	return w.out.Write(line)
}
