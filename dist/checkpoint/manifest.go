package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"jmpi/internal/matio"
)

// Format is the number of the format that is written, and the only one that is read.
const Format = 4

// The names in the folder of a checkpoint. What a generation has written lies in a folder that is its number.
const (
	manifestName = "manifest.json"
	tempName     = manifestName + ".tmp"
	lockName     = "lock"
)

var generationName = regexp.MustCompile(`^[0-9]{6,12}$`)

// Field is something by which a run is known.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// manifest says what a checkpoint consists of.
type manifest struct {
	Format     int       `json:"format"`
	Version    string    `json:"jmpi"`
	Run        string    `json:"run"` // the run that began it, and those that went on
	Generation int       `json:"generation"`
	Input      []Field   `json:"input"`
	Options    []Field   `json:"options"`
	Records    []*record `json:"records"`
	Sum        string    `json:"sum"` // SHA-256 of the manifest with this field empty
}

// record is what a checkpoint has of a stage.
type record struct {
	Path  string             `json:"path"` // its number in the run: 2, or 2.1 in stage 2
	Kind  string             `json:"kind"`
	Facts map[string]rawFact `json:"facts"`
	Files []*file            `json:"files"`
}

// file is an array on the disk, of pieces one after the other.
type file struct {
	Name string `json:"name"` // of the array
	At   string `json:"at"`   // path in the folder
	Shape
	Sum matio.Sum `json:"sum"` // of all pieces

	store Array // what writes it; nil functions when it is on the disk
}

// Shape says of what pieces an array consists.
type Shape struct {
	Count int     `json:"count"`           // of pieces
	Bytes int64   `json:"bytes,omitempty"` // of each
	Sizes []int64 `json:"sizes,omitempty"` // of each, where they differ
	// Shared says that rank 0 has all of it and writes it, and that each rank reads all of it.
	Shared bool `json:"shared,omitempty"`
}

// check refuses a shape that makes no sense.
func (s Shape) check() error {
	wrong := s.Count < 0 || s.Bytes < 0 || s.Sizes != nil && len(s.Sizes) != s.Count ||
		s.Bytes > 0 && int64(s.Count) > (1<<62)/s.Bytes
	total := int64(0)
	for _, n := range s.Sizes {
		if wrong = wrong || n < 0 || n > 1<<62-total; wrong {
			break
		}
		total += n
	}
	if wrong {
		return errors.New("an array of an impossible shape")
	}
	return nil
}

// size returns the bytes of piece i.
func (s Shape) size(i int) int64 {
	if s.Sizes != nil {
		return s.Sizes[i]
	}
	return s.Bytes
}

// offset returns where piece i begins; that of piece Count is the length of the file.
func (s Shape) offset(i int) int64 {
	if s.Sizes == nil {
		return int64(i) * s.Bytes
	}
	at := int64(0)
	for _, n := range s.Sizes[:i] {
		at += n
	}
	return at
}

// encode returns the text of the manifest, with its sum.
func (m manifest) encode() ([]byte, error) {
	m.Sum = ""
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	m.Sum = hex.EncodeToString(sum[:])
	return json.Marshal(m)
}

// decode reads the text of a manifest. An error says what is wrong with it.
func decode(raw []byte) (m manifest, err error) {
	var version struct {
		Format  *int   `json:"format"`
		Version string `json:"jmpi"`
	}
	if err := json.Unmarshal(raw, &version); err != nil || version.Format == nil {
		return m, errors.New("is damaged: it is no manifest")
	}
	if *version.Format != Format {
		return m, fmt.Errorf("has format %d, of jmpi %s, and this jmpi reads format %d", *version.Format,
			version.Version, Format)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("is damaged: %w", err)
	}
	sum := m.Sum
	again, err := m.encode()
	if err != nil {
		return m, fmt.Errorf("is damaged: %w", err)
	}
	var same manifest
	if err := json.Unmarshal(again, &same); err != nil || same.Sum != sum {
		return m, errors.New("is damaged: its checksum differs")
	}
	return m, m.check()
}

// check refuses a manifest that nobody can have written.
func (m manifest) check() error {
	for _, r := range m.Records {
		if r == nil {
			return errors.New("is damaged: an empty record")
		}
		for _, f := range r.Files {
			if f == nil || !filepath.IsLocal(f.At) || f.check() != nil {
				return fmt.Errorf("is damaged: a file of record %s", r.Path)
			}
		}
	}
	return nil
}

// files returns the files of all records.
func (m manifest) files() (all []*file) {
	for _, r := range m.Records {
		all = append(all, r.Files...)
	}
	return all
}

// differs compares what a run is known by. It returns a sentence about the first difference, "" for none.
func differs(kept, now []Field, sentence string) string {
	for _, f := range now {
		i := slices.IndexFunc(kept, func(k Field) bool { return k.Name == f.Name })
		if i < 0 {
			continue
		}
		if k := kept[i]; k.Value != f.Value {
			return fmt.Sprintf(sentence, f.Name, k.Value, f.Value)
		}
	}
	return ""
}

// lengths refuses a checkpoint of which a file is missing or has another length.
func (m manifest) lengths(dir string) error {
	for _, f := range m.files() {
		info, err := os.Stat(filepath.Join(dir, f.At))
		switch want := f.offset(f.Count); {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("is damaged: %s is missing", f.At)
		case err != nil:
			return err
		case info.Size() != want:
			return fmt.Errorf("is damaged: %s has %d bytes, not %d", f.At, info.Size(), want)
		}
	}
	return nil
}

// write makes the manifest the one of the folder, whole or not at all.
func (m manifest) write(dir string) error {
	raw, err := m.encode()
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, tempName)
	file, err := os.Create(temp)
	if err != nil {
		return err
	}
	_, err = file.Write(raw)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, manifestName)); err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder waits until the names in a folder are on the disk.
func syncFolder(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// clear deletes what a folder holds besides the files of a manifest: what runs that were killed have left,
// and what an older checkpoint needed. Generations after the last one, by name, are left alone.
func (m manifest) clear(dir, last string) error {
	used := map[string]bool{}
	for _, f := range m.files() {
		used[filepath.Clean(f.At)] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == tempName || name == manifestName && m.Generation == 0:
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		case e.IsDir() && generationName.MatchString(name) && !after(name, last):
			err = errors.Join(err, clearGeneration(dir, name, used))
		}
	}
	return err
}

// after tells whether a generation comes after another one.
func after(name, other string) bool {
	return len(name) > len(other) || len(name) == len(other) && name > other
}

// clearGeneration deletes the files of a generation that are not used, and its folder if nothing is left.
func clearGeneration(dir, name string, used map[string]bool) error {
	files, err := os.ReadDir(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	left := false
	for _, f := range files {
		if at := filepath.Join(name, f.Name()); used[at] {
			left = true
		} else {
			err = errors.Join(err, os.Remove(filepath.Join(dir, at)))
		}
	}
	if left || err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, name))
}

// rawFact is JSON.
type rawFact = json.RawMessage
