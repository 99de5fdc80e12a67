package rates

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Parse reads the text of a file.
func Parse(text []byte) (*Rates, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	r := &Rates{}
	err := d.Decode(r)
	if err == nil {
		if _, rest := d.Token(); rest != io.EOF {
			err = errors.New("something follows")
		}
	}
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, fmt.Errorf("no file of rates: %w; jmpi bench --rates FILE makes one", err)
	}
	return r, nil
}

// huge is more than any number in a file is, but of bytes and operations.
const huge = 1e9

// check tells what the model cannot compute with.
func (r *Rates) check() error {
	if r.Kind != "cpu" && r.Kind != "cuda" || len(r.Batches) == 0 || len(r.Dense) == 0 {
		return errors.New("kind, batches or dense are missing")
	}
	for _, b := range r.Batches {
		if b.Order < 1 || b.Order > huge || len(b.Seconds) == 0 {
			return fmt.Errorf("batches, %s in %s of order %d: write an order from 1 to %g, and seconds",
				b.Primitive, b.Type, b.Order, huge)
		}
	}
	for what, c := range r.Dense {
		if len(c) == 0 {
			return fmt.Errorf("dense, %s: seconds are missing", what)
		}
	}
	for name, l := range r.Links {
		if !(l.Latency >= 0 && l.Latency <= huge && l.BytesPerSecond >= 1) {
			return fmt.Errorf("links, %s: latency %g, bytes_per_second %g: write what is not negative, and at "+
				"least 1", name, l.Latency, l.BytesPerSecond)
		}
	}
	for _, c := range r.Courses {
		if err := c.check(); err != nil {
			return fmt.Errorf("courses, %s of order %d: %w", c.Kind, c.N, err)
		}
	}
	return nil
}

func (c Course) check() error {
	if c.N < 1 || c.N > huge || c.Devices < 0 || c.Devices > huge || !(c.Seconds >= 0 && c.Seconds <= huge) ||
		!(c.Cond >= 0) {
		return fmt.Errorf("%d devices, condition %g, %g s: write an order from 1 on, and numbers that are not "+
			"negative", c.Devices, c.Cond, c.Seconds)
	}
	for _, s := range c.Refined {
		if s.Corrections < 0 || s.Corrections > mostCorrections || !(s.Single >= 0 && s.Single <= 1) {
			return fmt.Errorf("%s: %d corrections, a share of %g in float32: write numbers from 0 to %d, and from "+
				"0 to 1", s.What, s.Corrections, s.Single, mostCorrections)
		}
	}
	return nil
}

// mostCorrections are more than any decomposition makes.
const mostCorrections = 100
