package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"jmpi/dist/comm"
	"jmpi/dist/exchange"
	"jmpi/internal/selftest"
	"jmpi/kernels/cpu"
)

func newSelftestCommand() *cobra.Command {
	var f sessionFlags
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "compare each primitive of the devices with the CPU back end",
		Long: `Compare each primitive of every rank's devices with the CPU back end on small random problems, then
copies between the devices of a rank, then messages along every path that there is (see bench
exchange). A line each, "PRIMITIVE DEVICE PASSED (error as a fraction of its bound)" or FAILED; the
bounds are those of the worst case of rounding errors. Where there is no GPU, the CPU back end is
compared with itself on one thread.

The last line is PASSED or FAILED; the exit code is 0 or 5. It takes seconds; under mpirun every
rank tests its own devices.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			s, err := newSession(f)
			if err != nil {
				return err
			}
			return s.end(s.selftest(&printer{w: os.Stdout}))
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// verdicts are the lines of one rank's test.
type verdicts struct {
	text   strings.Builder
	failed []string // what failed
}

// add writes the line of one test of a device.
func (v *verdicts) add(device string, r selftest.Result) {
	fmt.Fprintf(&v.text, "%-13s %s %v\n", r.Primitive, device, r)
	if !r.Passed() {
		v.failed = append(v.failed, r.Primitive+" "+device)
	}
}

// selftest tests this rank's devices, and messages between all; rank 0 prints the lines of all ranks.
func (s *session) selftest(out *printer) error {
	mine, err := s.judge()
	if err := s.agree(comm.BadResource, err); err != nil {
		return err
	}
	all, err := s.comm.Allgather([]byte(mine.text.String()))
	if err != nil {
		return s.failed(err)
	}
	var failed error
	switch {
	case len(mine.failed) > 0:
		failed = fmt.Errorf("the self-test failed: %s", strings.Join(mine.failed, ", "))
	case s.FellBack != nil && !s.NoGPU:
		failed = fmt.Errorf("the self-test failed: the GPUs cannot be used: %w", s.FellBack)
	}
	failed = comm.Agree(s.comm, comm.BadResource, failed)
	paths, err := s.exchangeOnce()
	var known *comm.Failure
	if err != nil && !errors.As(err, &known) {
		return s.failed(err)
	}
	if failed == nil {
		failed = err
	}
	if s.comm.Rank() == 0 {
		if s.FellBack != nil {
			fmt.Fprintf(out, "%% testing the CPU back end alone: %v\n", s.FellBack)
		}
		fmt.Fprintf(out, "%s%s%s\n", bytes.Join(all, nil), paths,
			map[bool]string{true: "PASSED", false: "FAILED"}[failed == nil])
	}
	if failed != nil {
		return s.verdict(exitCheckFailed, failed)
	}
	return s.agree(comm.BadResource, out.err)
}

// exchangeOnce sends messages along every path and compares what arrives. It returns a line for each path; an
// error that all ranks know has its line too.
func (s *session) exchangeOnce() (lines string, err error) {
	transport, err := exchange.ChooseTransport(s.comm, s.Devices, s.direct)
	if err != nil {
		return "", err
	}
	if s.comm.Size() > 1 {
		lines = fmt.Sprintf("%% messages between ranks: %v\n", transport)
	}
	rows, err := exchange.Bench(s.comm, s.Devices, transport, []int64{8, 1 << 20, 16 << 20})
	if err != nil {
		return fmt.Sprintf("%sexchange      FAILED (%v)\n", lines, err), err
	}
	for i, r := range rows {
		if i+1 == len(rows) || rows[i+1].Path != r.Path {
			lines += fmt.Sprintf("exchange      %s PASSED (%d bytes at %.3g GB/s)\n", r.Path, r.Bytes, r.GBs)
		}
	}
	return lines, nil
}

// judge compares the devices of this rank with the CPU back end, and what each copies from the others.
func (s *session) judge() (*verdicts, error) {
	reference, err := cpu.Open(1)
	if err != nil {
		return nil, err
	}
	v := &verdicts{}
	for i, be := range s.Devices {
		for _, r := range selftest.Run(be, reference) {
			v.add(s.deviceName(i), r)
		}
	}
	for i, to := range s.Devices {
		for j, from := range s.Devices {
			if i != j {
				v.add(s.deviceName(i)+" from "+s.deviceName(j), selftest.Copy(to, from))
			}
		}
	}
	return v, reference.Close()
}

// deviceName names a device of this rank: "cuda:0" by its number among the GPUs that the rank sees, "rank 2
// cuda:0" if there are other ranks.
func (s *session) deviceName(i int) string {
	name := fmt.Sprintf("%s:%d", s.Devices[i].Describe().Kind, i)
	if s.GPUs != nil {
		name = fmt.Sprintf("cuda:%d", s.GPUs[i])
	}
	if s.comm.Size() > 1 {
		name = fmt.Sprintf("rank %d %s", s.comm.Rank(), name)
	}
	return name
}
