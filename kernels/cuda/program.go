package cuda

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"jmpi/internal/parallel"
)

//go:embed *.cu *.cuh
var sources embed.FS

// options are those of every compilation, beside the architecture and the tiling. No product and sum
// are fused but where the source says fma, so that rotations have the bits that package kernels gives
// them; there is no fast-math option, so that division and square root are correctly rounded and small
// numbers are not flushed to zero.
var options = []string{"--std=c++17", "--fmad=false"}

// header is a file that the others include.
type header struct{ name, text string }

// files returns the names of the source files, and the headers.
func files() (names []string, headers []header, err error) {
	entries, err := sources.ReadDir(".")
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".cu") {
			names = append(names, e.Name())
			continue
		}
		text, err := sources.ReadFile(e.Name())
		if err != nil {
			return nil, nil, err
		}
		headers = append(headers, header{e.Name(), string(text)})
	}
	return names, headers, nil
}

// Compile compiles all kernels for an architecture, such as "sm_90", with NVRTC; a GPU is not needed. It
// fails with nvidia.ErrMissing where NVRTC is not installed, and with a *CompileError where a source has
// faults. The cache is not used.
func Compile(architecture string) error {
	_, err := build(architecture, func(c *compiler, file, source string, headers []header,
		options []string) ([]byte, error) {
		return c.compile(file, source, headers, options)
	})
	return err
}

// build returns the machine code of all source files, by the name of the file; one makes that of a file.
func build(architecture string, one func(c *compiler, file, source string, headers []header,
	options []string) ([]byte, error)) (map[string][]byte, error) {
	c, err := loadCompiler()
	if err != nil {
		return nil, err
	}
	names, headers, err := files()
	if err != nil {
		return nil, fmt.Errorf("cuda: embedded sources: %w", err)
	}
	architecture = target(architecture, c.version)
	t, err := tilingOf(architecture)
	if err != nil {
		return nil, err
	}
	flags := append(append(slices.Clone(options), "--gpu-architecture="+architecture), t.options()...)
	code := make([][]byte, len(names))
	err = parallel.Each(len(names), len(names), func(i int) error {
		source, err := sources.ReadFile(names[i])
		if err == nil {
			code[i], err = one(c, names[i], string(source), headers, flags)
		}
		if err != nil {
			return fmt.Errorf("cuda: %s for %s with NVRTC %s: %w", names[i], architecture, c.version, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	built := map[string][]byte{}
	for i, name := range names {
		built[name] = code[i]
	}
	return built, nil
}

// target returns the architecture that the kernels are compiled for: with what it has beyond others, where
// they use that and the compiler knows it.
func target(architecture, version string) string {
	if architecture == "sm_90" && !strings.HasPrefix(version, "11.") {
		return "sm_90a"
	}
	return architecture
}

// CompileError is a source file that NVRTC refuses.
type CompileError struct {
	File    string
	Options []string
	Log     string   // as NVRTC wrote it
	Source  []string // the lines that the log names, as "file:number: text"
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("does not compile with %s:\n%s\n%s", strings.Join(e.Options, " "),
		strings.TrimSpace(e.Log), strings.Join(e.Source, "\n"))
}

// place is how the log names a line.
var place = regexp.MustCompile(`(?m)^([\w.]+)\((\d+)\): `)

func newCompileError(file, source string, headers []header, options []string, log string) *CompileError {
	e := &CompileError{File: file, Options: options, Log: strings.TrimRight(log, "\x00")}
	texts := map[string]string{file: source}
	for _, h := range headers {
		texts[h.name] = h.text
	}
	for _, m := range place.FindAllStringSubmatch(e.Log, -1) {
		lines := strings.Split(texts[m[1]], "\n")
		number, err := strconv.Atoi(m[2])
		if err != nil || number < 1 || number > len(lines) {
			continue
		}
		line := fmt.Sprintf("%s:%d: %s", m[1], number, lines[number-1])
		if !slices.Contains(e.Source, line) {
			e.Source = append(e.Source, line)
		}
	}
	return e
}
