package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

var updateMistakes = flag.Bool("update-mistakes", false, "write what jmpi prints to docs/mistakes.md")

const mistakesPage = "../../docs/mistakes.md"

// mistakesAtOnce is how many mistakes are made at a time. Most of their time MPI waits for something.
const mistakesAtOnce = 6

// mistake is a row of docs/mistakes.md: a command for a shell, its exit code, and the line that jmpi prints.
type mistake struct {
	command, code, line string
}

// mistakeRow is a row of the table. Code spans have no vertical bars.
var mistakeRow = regexp.MustCompile("^\\| ``? ?(.+?) ?``? \\| (\\d+) \\| (.+) \\|$")

// cell is the text of a line in the table: a code span whose marks are doubled where it holds one itself.
func cell(text string) string {
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

// readMistakes returns the rows of the table.
func readMistakes(t *testing.T) (rows []mistake, page string) {
	t.Helper()
	text, err := os.ReadFile(mistakesPage)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := mistakeRow.FindStringSubmatch(strings.TrimSpace(line)); fields != nil {
			rows = append(rows, mistake{fields[1], fields[2], strings.Trim(fields[3], "` ")})
		} else if strings.HasPrefix(line, "| `") {
			t.Errorf("not a row: %s", line)
		}
	}
	return rows, string(text)
}

// Every mistake of docs/mistakes.md ends with the exit code and the line that stand there, and nothing is
// written. "…" stands for any text, in a few rows: figures of the machine. The page calls the host node1.
func TestMistakes(t *testing.T) {
	rows, page := readMistakes(t)
	if len(rows) < 40 {
		t.Errorf("%d rows", len(rows))
	}
	path, err := filepath.Abs(mistakesPage) // the inputs are made in another folder
	if err != nil {
		t.Fatal(err)
	}
	inputs, program := t.TempDir(), t.TempDir()
	writeMistakenInputs(t, inputs)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, filepath.Join(program, "jmpi")); err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		mistake
		err error
	}
	outcomes, folders := make([]outcome, len(rows)), t.TempDir()
	var group errgroup.Group
	group.SetLimit(mistakesAtOnce)
	for i, row := range rows {
		group.Go(func() error {
			var o outcome
			o.mistake, o.err = row.run(filepath.Join(folders, fmt.Sprint(i)), inputs, program)
			outcomes[i] = o
			return nil
		})
	}
	_ = group.Wait() // the errors are in the outcomes
	open := 0
	for i, row := range rows {
		if strings.Contains(row.line, "…") {
			open++
		}
		t.Run(row.command, func(t *testing.T) {
			got := outcomes[i]
			if got.err != nil {
				t.Error(got.err)
			}
			if *updateMistakes && !lineMatches(got.line, row.line) {
				old := fmt.Sprintf("| %s | %s | %s |", cell(row.command), row.code, cell(row.line))
				page = strings.Replace(page, old, fmt.Sprintf("| %s | %s | %s |", cell(row.command), got.code,
					cell(got.line)), 1)
			} else if got.code != row.code || !lineMatches(got.line, row.line) {
				t.Errorf("exit code %s, prints\n%s\nwant %s and\n%s", got.code, got.line, row.code, row.line)
			}
		})
	}
	if open > 5 {
		t.Errorf("%d rows leave a part of the line open", open)
	}
	if *updateMistakes {
		if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// lineMatches compares a line with one of the table.
func lineMatches(line, want string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".+") +
		"$").MatchString(line)
}

// run makes the mistake in a copy of the inputs, and returns what comes of it. The line is the only one
// that begins with "jmpi: ", or the only warning. The error says what is wrong besides: other lines, or
// files that have changed.
func (m mistake) run(dir, inputs, program string) (mistake, error) {
	if err := os.CopyFS(dir, os.DirFS(inputs)); err != nil {
		return m, err
	}
	was, err := allFiles(dir)
	if err != nil {
		return m, err
	}
	command := exec.Command("bash", "-c", m.command)
	var stderr lockedBuffer
	command.Dir, command.Stderr, command.WaitDelay = dir, &stderr, 5*time.Second
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "JMPI_") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(append(command.Env, mpirunSettings...), programVariable+"=1",
		"PATH="+program+":"+os.Getenv("PATH"))
	err = command.Run()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		return m, err
	}
	now, err := allFiles(dir)
	code, pattern := command.ProcessState.ExitCode(), `(?m)^jmpi: .*$`
	if code == exitDone {
		pattern = `(?m)WRN .*$`
	} else if err == nil && was != now {
		err = fmt.Errorf("the files were\n%s\nand are\n%s", was, now)
	}
	lines := regexp.MustCompile(pattern).FindAllString(stderr.String(), -1)
	if err == nil && len(lines) != 1 {
		err = fmt.Errorf("%d lines in\n%s", len(lines), stderr.String())
	}
	line := strings.ReplaceAll(strings.Join(lines, " "), " on "+host()+": ", " on node1: ")
	return mistake{m.command, fmt.Sprint(code), line}, err
}

// allFiles lists a folder with the bytes of its files.
func allFiles(dir string) (string, error) {
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		var text []byte
		if err == nil && !entry.IsDir() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintf(&list, "%s %q\n", path, text)
		return err
	})
	return list.String(), err
}

// writeMistakenInputs makes the files that docs/mistakes.md names.
func writeMistakenInputs(t *testing.T, dir string) {
	t.Helper()
	t.Chdir(dir)
	gauss(t, 12, 8).write(t, "a.npy")
	gauss(t, 8, 12).write(t, "wide.npy")
	runOn(t, alone, []svdRun{{"a.npy", dir + "/a.svd", "both"}})[0].right(t)
	for _, rest := range []string{"a.svd.code", "a.svd.err"} {
		if err := os.Remove(rest); err != nil {
			t.Fatal(err)
		}
	}
	some := gauss(t, 12, 8)
	numbers := some.encode(8, binary.LittleEndian, true)
	some.x[2+7*12] = math.NaN()
	whole, err := os.ReadFile("a.npy")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"data/notes.txt":      "mine\n",
		"a.csv":               "1,2\n3,4\n",
		"a.txt":               "1 2\n3 4\n",
		"a.mat":               "MATLAB 5.0 MAT-file",
		"a.h5":                "\x89HDF\r\n",
		"a.npz":               "PK\x03\x04",
		"a.bin":               string(numbers),
		"a.12x8.f64":          string(numbers),
		"a.f64":               string(numbers),
		"a.12x9.rowmajor.f64": string(numbers),
		"vector.npy":          string(npyBytes("<f8", "(96,)", numbers)),
		"cube.npy":            string(npyBytes("<f8", "(2, 4, 12)", numbers)),
		"complex.npy":         string(npyBytes("<c16", "(12, 4)", numbers)),
		"object.npy":          string(npyBytes("|O", "(12, 8)", numbers)),
		"cut.npy":             string(whole[:500]),
		"renamed.npy":         "1,2\n3,4\n",
		"nan.npy":             string(npyFile("<f8", false, 12, 8, some.encode(8, binary.LittleEndian, true))),
		"empty.npy":           "",
		"ragged.mtx":          "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3 4\n",
		"short.mtx":           "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 5\n",
		"twice.mtx":           "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 5\n1 1 7\n",
		"huge.mtx":            "%%MatrixMarket matrix coordinate real general\n9000000 3000000 1\n1 1 5\n",
		"underflow.mtx":       "%%MatrixMarket matrix array real general\n1 2\n1\n1e-999\n",
		"zero-based.mtx":      "%%MatrixMarket matrix coordinate real general\n2 2 2\n0 0 5\n1 1 7\n",
		"plain.mtx":           "2 2\n1\n2\n3\n4\n",
		"signs.npy":           string(npyBytes("<f8", "(2,)", encodeAll(1, -1))),
		"twos.npy":            string(npyBytes("<f8", "(8,)", encodeAll(2, 2, 2, 2, -2, -2, -2, -2))),
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// npyBytes is a .npy file in C order with a shape as Python writes it.
func npyBytes(descr, shape string, data []byte) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	return append(fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n", text), data...)
}

// encodeAll returns the bytes of numbers.
func encodeAll(x ...float64) (data []byte) {
	for _, v := range x {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return data
}
