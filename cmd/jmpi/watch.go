package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"jmpi/internal/report"
	"jmpi/internal/results"
)

func newWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch DIR",
		Short: "follow a running svd from another shell",
		Long: `Follow the jmpi svd that is going to write its results into DIR: its phase, sweep and step, what the
last sweep did, about when it ends, and how long ago it gave a sign of life. It works on every host that
sees DIR.

It ends with the job. The exit code is the job's, as far as it is known: 0, or 4 for results that are not
converged; 6 where the job has ended without results in DIR; 3 where there is no such job. A terminal shows
one line; otherwise there is a line for each phase and sweep, and one at least every 30 s.`,
		Args: takes("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !onRankZero() {
				return nil
			}
			w := watcher{dir: args[0], out: cmd.OutOrStdout(), now: time.Now, every: time.Second}
			if file, ok := w.out.(*os.File); ok && terminal(file) {
				w.width = func() int {
					width, _, err := term.GetSize(int(file.Fd()))
					if err != nil {
						return 80
					}
					return width
				}
			}
			return w.watch()
		},
	}
}

// watcher follows a job.
type watcher struct {
	dir   string
	out   io.Writer
	width func() int // of the terminal, nil without one
	now   func() time.Time
	every time.Duration

	said time.Time // when there was a line
	last string    // what must have changed for another
}

// watch follows the job until it ends.
func (w *watcher) watch() error {
	var seen *told
	for dead := 0; ; {
		runs, err := results.Find(w.dir)
		if err != nil {
			return exit(exitInput, err)
		}
		run, found := newest(runs)
		if !found {
			return w.ended(seen)
		}
		if !run.Dead {
			dead = 0
		} else if dead++; dead < 2 { // a folder that is being replaced has no lock for a moment
			time.Sleep(w.every)
			continue
		}
		if run.Told == nil && !run.Dead && seen != nil && seen.Job.Start != "" {
			time.Sleep(w.every) // it is about to end
			continue
		}
		t := &told{Job: job{Host: run.Host, PID: run.PID}, Phase: starting, Written: run.At, Moved: run.At}
		if run.Told != nil {
			if err := json.Unmarshal(run.Told, t); err != nil {
				return exit(exitInput, fmt.Errorf("the progress of the run into %s cannot be read: %w; "+
					"is it of another version of jmpi?", w.dir, err))
			}
		}
		if run.Dead {
			w.clear()
			const text = "the run into %s was killed, process %d on %s, in the phase %s: it gave its last sign of " +
				"life %s ago. The next run into %s clears up"
			return exit(exitFailure, fmt.Errorf(text, w.dir, t.Job.PID, t.Job.Host, where(*t),
				ago(w.now().Sub(t.Written)), w.dir))
		}
		seen = t
		if err := w.show(*t); err != nil {
			return exit(exitFailure, err)
		}
		time.Sleep(w.every)
	}
}

// newest is the latest run that lives, or the latest one.
func newest(runs []results.Run) (r results.Run, found bool) {
	for _, r := range runs {
		if !r.Dead {
			return r, true
		}
	}
	if len(runs) > 0 {
		return runs[0], true
	}
	return r, false
}

// where tells how far a job is.
func where(t told) string {
	text := string(t.Phase)
	switch {
	case t.Phase == reading && t.Read > 0:
		text += fmt.Sprintf(": %.0f %%", 100*t.Read)
	case t.Phase == sweeping:
		text = fmt.Sprintf("sweep %d of about %d", t.Sweep, max(t.Sweep, t.Expected))
		if t.Steps > 0 {
			text += fmt.Sprintf(", step %d of %d", t.Step, t.Steps)
		}
	}
	return text
}

// line is what is shown of a job.
func (w *watcher) line(t told) string {
	parts := []string{where(t)}
	if s := t.Last; s != nil {
		text := fmt.Sprintf("sweep %d took %s: %d rotations, %d proper, %.3g %% active", s.Sweep,
			ago(time.Duration(s.Seconds*float64(time.Second))), s.Rotations, s.Proper, 100*s.Active)
		if s.Cosine > 0 {
			text += fmt.Sprintf(", cosines up to %.2g", s.Cosine)
		}
		parts = append(parts, text)
	}
	if t.Checkpoint != "" {
		parts = append(parts, "checkpoint "+t.Checkpoint)
	}
	if !t.End.IsZero() {
		parts = append(parts, "ends about "+t.End.Local().Format("Mon 15:04:05"))
	}
	if t.Job.Ranks > 0 {
		parts = append(parts, fmt.Sprintf("%s on %s", counted(t.Job.Ranks, "rank"), counted(t.Job.Hosts, "host")))
	}
	parts = append(parts, fmt.Sprintf("process %d on %s", t.Job.PID, t.Job.Host))
	now := w.now()
	parts = append(parts, fmt.Sprintf("last sign of life %s ago", ago(now.Sub(t.Written))))
	if still := t.Written.Sub(t.Moved); still >= 10*time.Second {
		parts = append(parts, fmt.Sprintf("no step for %s", ago(still)))
	}
	return printable(strings.Join(parts, "; "))
}

// counted is a number of things.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ago writes a duration. Clocks of two hosts may differ: it is not negative.
func ago(d time.Duration) string {
	d = max(0, d)
	if d < 10*time.Second {
		return fmt.Sprintf("%.2g s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// show shows how far a job is.
func (w *watcher) show(t told) error {
	if w.width != nil {
		line := []rune(w.line(t))
		_, err := fmt.Fprintf(w.out, "\r\x1b[K%s", string(line[:min(len(line), max(1, w.width()-1))]))
		return err
	}
	what := fmt.Sprint(t.Phase, t.Sweep)
	if what == w.last && w.now().Sub(w.said) < lineEvery {
		return nil
	}
	w.last, w.said = what, w.now()
	_, err := fmt.Fprintf(w.out, "%s %s\n", w.now().Format(time.TimeOnly), w.line(t))
	return err
}

// clear takes the line off the terminal.
func (w *watcher) clear() {
	if w.width != nil {
		_, _ = fmt.Fprint(w.out, "\r\x1b[K") // what follows is printed elsewhere
	}
}

// ended tells what has become of a job, which was seen or not.
func (w *watcher) ended(seen *told) error {
	w.clear()
	info, err := readInfo(filepath.Join(w.dir, "info.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && seen == nil:
		return exit(exitInput, fmt.Errorf("%s: no run into this folder is at work, and there are no results; "+
			"name the DIR of jmpi svd. A run shows when its ranks have started", w.dir))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return exit(exitInput, err)
	case err != nil || seen != nil && seen.Job.Start != "" && info.Start != seen.Job.Start:
		return exit(exitFailure, fmt.Errorf("the run into %s has ended without results there, in the phase %s; "+
			"its own output says why", w.dir, where(*seen)))
	}
	intro := "the run has ended"
	if seen == nil {
		intro = "no run into this folder is at work"
	}
	state := fmt.Sprintf("converged in %s", counted(info.Sweeps, "sweep"))
	if !info.Converged {
		state = fmt.Sprintf("not converged in %s", counted(info.Sweeps, "sweep"))
	}
	text := fmt.Sprintf("%s: %s; %s has the results of a run started %s, which took %s: %s", w.dir, intro, w.dir,
		info.Start, ago(time.Duration(info.WallSeconds*float64(time.Second))), state)
	if !info.Converged {
		return exit(exitNotConverged, errors.New(text))
	}
	_, err = fmt.Fprintln(w.out, printable(text))
	return exit(exitFailure, err)
}

// readInfo reads the info.json of finished results.
func readInfo(path string) (info report.Info, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return info, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return info, nil
}
