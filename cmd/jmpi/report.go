package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"jmpi/internal/page"
	"jmpi/internal/results"
)

func newReportCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "report DIR [-o FILE.html]",
		Short: "make a page of results, to be read in a browser",
		Long: `Make one HTML page of the results in DIR, from info.json and S.npy: what was done and why,
convergence, singular values, where the time went, which device worked on what, traffic and memory.

The page needs no other file and no network. It can be printed, and read on a phone. Without -o it is DIR
with the extension .html. FILE.html is replaced if it exists.`,
		Args: takes("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(cmd.Flags()); err != nil {
				return err
			}
			if output == "" {
				output = pageOf(args[0])
			}
			if !onRankZero() {
				return nil
			}
			return writeReport(args[0], output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the page; replaced if it exists")
	return cmd
}

// pageOf is the name of the page of a folder.
func pageOf(dir string) string {
	dir = filepath.Clean(dir)
	if name := filepath.Base(dir); name == "." || name == ".." {
		if full, err := filepath.Abs(dir); err == nil {
			dir = full
		}
	}
	return dir + ".html"
}

// writeReport writes the page of a folder of results.
func writeReport(dir, output string) error {
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return exit(exitInput, fmt.Errorf("%s: there is no such folder; name results of jmpi svd", dir))
	} else if err == nil && !info.IsDir() {
		return exit(exitInput, fmt.Errorf("%s: not a folder; name results of jmpi svd", dir))
	}
	if results.Within(dir, output) {
		return exit(exitInput, fmt.Errorf("-o %s: %s is the folder of the results, which holds nothing else; "+
			"choose another place", output, dir))
	}
	if err := writable(output); err != nil {
		return exit(exitInput, err)
	}
	var b bytes.Buffer
	if err := page.Write(&b, dir); err != nil {
		return exit(exitInput, err)
	}
	if err := replaceFile(output, b.Bytes()); err != nil {
		return exit(exitFailure, err)
	}
	return nil
}
