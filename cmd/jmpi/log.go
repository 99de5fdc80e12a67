package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// newLog returns a logger that writes on rank 0 alone.
func newLog(f sessionFlags, rank int) zerolog.Logger {
	if rank != 0 {
		return zerolog.Nop()
	}
	var w io.Writer = aboveBar{os.Stderr}
	if f.log == "console" {
		w = inOrder{zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: !terminal(os.Stderr)}}
	}
	level := zerolog.InfoLevel
	if f.quiet {
		level = zerolog.WarnLevel
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

// inOrder writes the fields of a line in the order in which they were given. The console's own order is
// that of the alphabet.
type inOrder struct{ console zerolog.ConsoleWriter }

func (w inOrder) Write(line []byte) (int, error) {
	w.console.FieldsOrder = keys(line)
	return w.console.Write(line)
}

// keys returns the names of the members of a JSON object, in their order.
func keys(object []byte) (names []string) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		text, ok := name.(string)
		if err != nil || !ok {
			return names
		}
		names = append(names, text)
	}
	return names
}

// digits rounds a number of the log to three significant digits.
func digits(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil { // of what is not finite, which is as it was
		return x
	}
	return rounded
}
