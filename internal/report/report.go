// Package report writes info.json, the machine-readable account of a run (docs/contract.md).
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Info is what info.json holds. The type parameters of a run that its caller owns (sweeps, devices) are
// stored as given.
type Info struct {
	Command          string   `json:"command"`
	Start            string   `json:"start"`        // RFC 3339
	WallSeconds      float64  `json:"wall_seconds"` // from the start to the writing of this account
	Seconds          float64  `json:"seconds"`      // of the decomposition, see docs/contract.md
	Input            Input    `json:"input"`
	Shape            [2]int64 `json:"shape"`
	Dtype            string   `json:"dtype"`
	K                int64    `json:"k"`
	Cut              *Cut     `json:"cut"` // null: nothing was cut
	Convention       string   `json:"convention"`
	Converged        bool     `json:"converged"`
	Sweeps           int      `json:"sweeps"`
	Sweep            any      `json:"sweep"`
	Strategy         string   `json:"strategy"`
	Scheme           string   `json:"scheme"`
	Variant          string   `json:"variant"`
	Block            int      `json:"block"`
	FineBlockColumns int      `json:"fine_block_columns"`
	FineParts        int      `json:"fine_parts"`
	Precondition     any      `json:"precondition"`
	V                any      `json:"v"`
	Precision        any      `json:"precision"`
	Refined          any      `json:"refined,omitempty"` // how the result of sweeps in float32 was refined
	// of V by --v solve, as the check measures it
	VResidual  float64            `json:"v_residual"`
	VNorm      float64            `json:"v_norm,omitempty"`   // ‖V‖_F of a hyperbolic SVD
	Fidelity   any                `json:"fidelity,omitempty"` // of a hyperbolic SVD
	Rank       any                `json:"rank"`
	OutOfRange any                `json:"out_of_range,omitempty"`
	Signature  *Signature         `json:"signature"`            // null for the SVD
	Checkpoint any                `json:"checkpoint,omitempty"` // what was kept of the run
	Ranks      int                `json:"ranks"`
	Devices    any                `json:"devices"`
	Transport  any                `json:"transport"`
	Versions   map[string]string  `json:"versions"`
	Phases     map[string]float64 `json:"phases"`
	// of each rank, rank 0 included; left out without a Jacobi method
	RankPhases []map[string]float64 `json:"rank_phases,omitempty"`
	// the macro steps of the first sweep, see MostMapped
	Plan           []Step  `json:"plan,omitempty"`
	PeakBytes      []int64 `json:"peak_bytes"`      // of each rank
	EstimatedBytes []int64 `json:"estimated_bytes"` // what was expected
	// of each GPU, and what was expected of each; left out on CPUs
	DevicePeakBytes      []int64 `json:"device_peak_bytes,omitempty"`
	DeviceEstimatedBytes int64   `json:"device_estimated_bytes,omitempty"`
}

// Input is the file that was decomposed.
type Input struct {
	Path  string   `json:"path"` // absolute
	Shape [2]int64 `json:"shape"`
	Dtype string   `json:"dtype"`
	Order string   `json:"order"` // of the numbers in the file: rowmajor, colmajor or coordinate
}

// Step is a macro step: which device works on which pair of macro block-columns, and what moves to another
// device after it, as topology.Step has it for Text.
type Step struct {
	Pairs string `json:"pairs"`
	Moves string `json:"moves"`
}

// MostMapped is the largest number of devices of which info.json has the macro steps.
const MostMapped = 64

// Cut says what of an SVD was not wanted: the singular values after the first K.
type Cut struct {
	Of   int64   `json:"of"`   // so many there are
	Norm float64 `json:"norm"` // √(Σσ²) of those that were cut, which is ‖A − U·diag(S)·Vᵀ‖_F
	Next float64 `json:"next"` // the largest of them, which is ‖A − U·diag(S)·Vᵀ‖₂
}

// What the files of a decomposition mean: of the SVD, and of the hyperbolic SVD with a Signature.
const (
	Convention           = "A = U*diag(S)*V^T; V.npy holds V, not its transpose; S is non-increasing"
	HyperbolicConvention = "A = U*diag(S)*V^T; V.npy holds V, not its transpose; V^T*D*V = " +
		"diag(I_P, -I) for the signature D; " +
		"S is non-increasing over its first P entries and non-decreasing over the rest"
)

// Write writes info.json, and waits until it is on the disk.
func (i Info) Write(path string) error {
	text, err := i.Text()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Text is what info.json has.
func (i Info) Text() ([]byte, error) {
	var b bytes.Buffer
	text := json.NewEncoder(&b)
	text.SetEscapeHTML(false)
	text.SetIndent("", "  ")
	if err := text.Encode(i); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return b.Bytes(), nil
}

// Written tells whether the file at path is an info.json that jmpi has written: it names the version of jmpi.
func Written(path string) (bool, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("report: %w", err)
	}
	var info struct {
		Convention string
		Versions   map[string]string
	}
	err = json.Unmarshal(b, &info)
	return err == nil && info.Convention != "" && info.Versions["jmpi"] != "", nil
}

// PeakBytes returns the largest resident size that this process has had (VmHWM), 0 if the system
// does not tell.
func PeakBytes() int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }() // which was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
