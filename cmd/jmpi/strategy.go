package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"jmpi/strategy"
)

func newStrategyCommand() *cobra.Command {
	names := strings.Join(strategy.Names(), " ")
	return &cobra.Command{
		Use:   "strategy NAME N",
		Short: "print the parallel steps of a pivot strategy of order N",
		Long: `Print a sweep of the pivot strategy NAME for N block-columns: a parallel step a line, as pairs p-q
of block-columns, 1-based, in the strategy's own order. For odd N one block-column rests in each
step.

  rowcyc, colcyc     closest to the row-cyclic and the column-cyclic strategy; from the diagonal outwards
  …-expanded         of order 2·odd, then each index doubled until N is reached
  rev-…              the reverse, from far pairs to the diagonal
  br                 block-recursive on a hypercube; N must be a power of two
  brentluk           Brent and Luk's ring
  mmstep             modified modulus: N steps, for even N some pairs twice
  roundrobin         the round-robin tournament

NAME is one of ` + names,
		Args: takes("NAME", "N"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil {
				const text = "strategy %s %s: the order must be a whole number from 1 to %d"
				return usagef(text, args[0], args[1], strategy.MaxOrder)
			}
			if !slices.Contains(strategy.Names(), args[0]) {
				suggestion := choose(nearest(args[0], strategy.Names()), strategy.Names())
				return usagef("there is no strategy %s; %s", args[0], suggestion)
			}
			table, err := strategy.New(args[0], n)
			if err != nil {
				return usagef("%w", err)
			}
			if !onRankZero() {
				return nil
			}
			return exit(exitFailure, table.WriteText(cmd.OutOrStdout()))
		},
	}
}
