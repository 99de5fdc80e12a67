package main

import (
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"jmpi/dist/jacobi"
)

// progress shows a run: a bar of sub-steps on a terminal, and a log line per sweep.
type progress struct {
	log    zerolog.Logger
	bar    *progressbar.ProgressBar
	sweep0 int
}

func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func newProgress(log zerolog.Logger) *progress {
	return &progress{log: log}
}

// step moves the bar of a sweep.
func (p *progress) step(at jacobi.Progress) {
	if !terminal(os.Stderr) || p.log.GetLevel() > zerolog.InfoLevel {
		return
	}
	if at.Sweep != p.sweep0 {
		p.sweep0 = at.Sweep
		p.bar = progressbar.NewOptions(at.Steps, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetDescription(fmt.Sprintf("sweep %d", at.Sweep)), progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(100*time.Millisecond))
	}
	// A bar that cannot be drawn is no reason to stop.
	_ = p.bar.Set(at.Step)
}

// sweep logs what a sweep did.
func (p *progress) sweep(s jacobi.SweepInfo) {
	p.log.Info().Int("sweep", s.Sweep).Int64("rotations", s.Rotations).Int64("proper", s.Proper).
		Float64("seconds", s.Seconds).Float64("gflops", float64(s.Flops)/s.Seconds/1e9).
		Int64("bytes_fast", s.BytesFast).Int64("bytes_slow", s.BytesSlow).Msg("sweep")
}
