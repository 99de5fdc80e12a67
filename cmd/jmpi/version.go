package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is the version of jmpi, and released the day from which it stands so in CHANGELOG.md.
const (
	Version  = "0.2.0"
	released = "2026-11-29"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the versions of jmpi and Go",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !onRankZero() {
				return nil
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "jmpi      %s\ngo        %s\nplatform  %s\n", version(),
				runtime.Version(), platform())
			return exit(exitFailure, err)
		},
	}
}

// version returns Version and, if the binary was built in a repository, the commit: "0.2.0
// (0123456789ab, modified)".
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	return versionOf(info.Settings)
}

func versionOf(settings []debug.BuildSetting) string {
	var revision, modified string
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	if revision == "" {
		return Version
	}
	return fmt.Sprintf("%s (%s%s)", Version, revision, modified)
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
