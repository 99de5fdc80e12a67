package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"jmpi/dist/exchange"
)

func newBenchExchangeCommand() *cobra.Command {
	var f sessionFlags
	var sizes []string
	cmd := &cobra.Command{
		Use:   "exchange",
		Short: "time messages between the devices, by path and size",
		Long: `Time messages between the devices, as they pass between the macro steps of a decomposition.

Lines that begin with % tell the circumstances; the others are the rows
  path ways bytes seconds GB/s
path is "direct" (MPI takes the memory of the GPUs), "staged" (through pinned host memory), "host"
(MPI between CPU devices) or "peer" (copies between the devices of a rank); ways is 1 (every other
rank or device sends to the next) or 2 (all send to the next at once, around the ring). seconds is
the median over repetitions, from post to completion of the slowest message; GB/s is that of one
rank (or device) in one direction. The bytes that arrive are compared once for each row.`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			bytes, err := parseSizes(sizes)
			if err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			s, err := newSession(f)
			if err != nil {
				return err
			}
			s.quiet()
			return s.end(s.benchExchange(bytes))
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().StringSliceVar(&sizes, "sizes", []string{"64K", "1M", "16M", "64M", "256M"},
		"bytes of a message, multiples of 8; K, M, G are powers of 1024")
	return cmd
}

// parseSizes reads the values of --sizes: "64K", "1M".
func parseSizes(texts []string) (sizes []int64, err error) {
	for _, text := range texts {
		digits, shift := text, 0
		for i, unit := range []string{"K", "M", "G"} {
			if rest, ok := strings.CutSuffix(text, unit); ok {
				digits, shift = rest, 10*(i+1)
			}
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 1 || n > 1<<40>>shift || n<<shift%8 != 0 {
			return nil, usagef("--sizes %s: expected a positive multiple of 8 bytes, as 65536, 64K or 1M", text)
		}
		sizes = append(sizes, n<<shift)
	}
	if len(sizes) == 0 {
		return nil, usagef("--sizes: give at least one size, as 64K")
	}
	return sizes, nil
}

// benchExchange prints, on rank 0, the rows of all paths.
func (s *session) benchExchange(sizes []int64) error {
	transport, err := exchange.ChooseTransport(s.comm, s.Devices, s.direct)
	if err != nil {
		return s.failed(err)
	}
	rows, err := exchange.Bench(s.comm, s.Devices, transport, sizes)
	if err != nil {
		return s.failed(err)
	}
	if s.comm.Rank() != 0 {
		return nil
	}
	fmt.Printf("%% %s\n%% command: jmpi %s\n%% %s\n", version(), printable(strings.Join(os.Args[1:], " ")),
		s.comm.Library())
	for i, d := range s.placed {
		fmt.Printf("%% device %d: rank %d on %s, %s %s\n", i, d.Rank, d.Host, d.Name, d.UUID)
	}
	fmt.Printf("%% messages between ranks: %v\n%% path ways bytes seconds GB/s\n", transport)
	for _, r := range rows {
		ways := 1
		if r.BothWays {
			ways = 2
		}
		fmt.Printf("%-6s %d %10d %.3e %.3f\n", r.Path, ways, r.Bytes, r.Seconds, r.GBs)
	}
	if len(rows) == 0 {
		fmt.Println("% no messages: one rank with one device")
	}
	return nil
}
