package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"jmpi/dist/comm"
	"jmpi/internal/cores"
	"jmpi/internal/enum"
	"jmpi/internal/hdf5"
	"jmpi/internal/matio"
	"jmpi/internal/report"
	"jmpi/internal/results"
)

// outputFlags say where the results go, and how.
type outputFlags struct {
	output string
	force  bool
	format format
}

func (f *outputFlags) register(flags *pflag.FlagSet) {
	flags.StringVarP(&f.output, "output", "o", "", "folder for the results; must not exist or be empty")
	flags.BoolVar(&f.force, "force", false, "replace the output folder, at the end")
	flags.Var(&f.format, "format",
		"of S, U and V: npy, a file each, or h5, one HDF5 file results.h5, column by column as MATLAB has them")
}

// prepare has made ready what HDF5 files need while MPI starts.
func (f *outputFlags) prepare(input string) {
	if f.format == h5Format && cores.FindLauncher().Rank == 0 {
		hdf5.Prepare()
	} else {
		matio.Prepare(input)
	}
}

// format is that of the results.
type format int

const (
	npyFormat format = iota
	h5Format
)

var formats = enum.Names{npyFormat: "npy", h5Format: "h5"}

func (f format) String() string         { return formats.Of(int(f)) }
func (f *format) Set(text string) error { return enum.Set(f, text, formats) }
func (f format) Type() string           { return formats.Type() }
func (f format) Choices() []string      { return formats }

// reserve makes the files of the results, on rank 0, and takes their space.
func (s *session) reserve(folder *results.Folder, files []results.File, as format) (err error) {
	if as == npyFormat {
		return folder.Reserve(files...)
	}
	s.places, err = folder.ReserveH5(files...)
	return err
}

// tellPlaces tells all ranks the places in an HDF5 file that rank 0 knows. It is collective.
func (s *session) tellPlaces() error {
	all, err := comm.AllOf(s.comm, s.places)
	if err == nil {
		s.places = all[0]
	}
	return err
}

// openResult opens U or V for writing.
func (s *session) openResult(folder *results.Folder, name string, rows, cols int64) (*matio.Writer, error) {
	if s.places == nil {
		return matio.OpenNpy(folder.Path(name + ".npy"))
	}
	return matio.OpenAt(folder.Path(results.H5Name), s.places[name], rows, cols)
}

// writeSigma writes the singular values, on rank 0, and makes the files of the vectors fit them: there may be
// fewer than was thought.
func (s *session) writeSigma(p problem, sigma []float64, folder *results.Folder) error {
	count := int64(len(sigma))
	fewer := count < p.part.of(p.k())
	if s.places == nil {
		err := matio.WriteVector(folder.Path("S.npy"), sigma)
		for _, file := range p.files(count) {
			if err == nil && !file.Vector && fewer {
				err = narrow(folder.Path(file.Name), count)
			}
		}
		return err
	}
	if fewer {
		if err := s.reserve(folder, p.files(count), h5Format); err != nil {
			return err
		}
	}
	if count == 0 {
		return nil
	}
	w, err := matio.OpenAt(folder.Path(results.H5Name), s.places["S"], count, 1)
	if err != nil {
		return err
	}
	return errors.Join(w.WriteColumns(0, sigma, len(sigma), 1), w.Close())
}

// names are those of the files of S, U and V.
func (p problem) names(as format) (all []string) {
	if as == h5Format {
		return []string{results.H5Name}
	}
	for _, file := range p.files(0) {
		all = append(all, file.Name)
	}
	return all
}

// complete adds what info.json tells to the HDF5 file, and waits until it is on the disk.
func complete(folder *results.Folder, info report.Info) error {
	text, err := info.Text()
	if err != nil {
		return err
	}
	notes, err := settings(text)
	if err != nil {
		return err
	}
	return folder.FinishH5(notes)
}

// layoutNote is the attribute that says how the data sets lie.
const layoutNote = "U and V lie column by column, as in MATLAB files: MATLAB, Julia and Fortran show " +
	"U (m x k) and V (n x k); h5py and C show the transposes, U^T (k x m) and V^T (k x n)"

// settings are the fields of info.json as attributes, and info.json itself. What is no text, number, truth
// value or short list of numbers is written as JSON; true is 1.
func settings(text []byte) ([]hdf5.Setting, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("info.json: %w", err)
	}
	const longest = 1000 // numbers in a list
	notes := []hdf5.Setting{{Name: "info.json", Text: string(text)}, {Name: "layout", Text: layoutNote}}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		note := hdf5.Setting{Name: name}
		var number float64
		var truth bool
		raw := fields[name]
		switch {
		case string(raw) == "null":
			note.Text = "null"
		case json.Unmarshal(raw, &note.Text) == nil:
		case json.Unmarshal(raw, &number) == nil:
			note.Numbers = []float64{number}
		case json.Unmarshal(raw, &truth) == nil:
			note.Numbers = []float64{0}
			if truth {
				note.Numbers[0] = 1
			}
		case json.Unmarshal(raw, &note.Numbers) == nil && len(note.Numbers) > 0 && len(note.Numbers) <= longest:
			note.List = true
		default:
			var b bytes.Buffer
			if err := json.Compact(&b, raw); err != nil {
				return nil, fmt.Errorf("info.json: %w", err)
			}
			note.Numbers, note.Text = nil, b.String()
		}
		notes = append(notes, note)
	}
	return notes, nil
}
