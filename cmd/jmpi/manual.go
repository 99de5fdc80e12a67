package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// Man pages, made of what the commands print as help.

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "write the man pages into a folder",
		Hidden: true, // for `make install` and those who make packages
		Args:   takes("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !onRankZero() {
				return nil
			}
			return exit(exitInput, writeManual(args[0]))
		},
	}
}

// writeManual writes jmpi.1 and a page for each command into a folder, which is made if need be.
func writeManual(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("cannot make the folder of the man pages: %w", err)
	}
	day, err := time.Parse(time.DateOnly, released)
	if err != nil {
		return fmt.Errorf("the day of the release: %w", err)
	}
	root := newRootCommand()
	root.DisableAutoGenTag = true
	for _, c := range append(allCommands(root), root) {
		c.Long = markdown(c.Long)
		c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = escapeMarkdown(f.Usage) })
	}
	root.Long += manSections()
	for _, c := range append(allCommands(root), root) {
		if c.Hidden {
			continue
		}
		var page bytes.Buffer
		header := doc.GenManHeader{Section: "1", Date: &day, Source: "jmpi " + Version, Manual: "jmpi"}
		if err := doc.GenMan(c, &header, &page); err != nil {
			return fmt.Errorf("the man page of %s: %w", c.CommandPath(), err)
		}
		name := filepath.Join(folder, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		text := tagged.ReplaceAll(page.Bytes(), []byte("\n.TP\n$1\n$2\n"))
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return fmt.Errorf("cannot write the man page: %w", err)
		}
	}
	return nil
}

// tagged is an option, or another word, and what it means, which the page gets as a paragraph with a tag.
var tagged = regexp.MustCompile(`\n(?:\.PP\n)?(\\fB.*)\n\t(.*)\n`)

// manSections are the sections that only the page of jmpi itself has.
func manSections() string {
	var b strings.Builder
	b.WriteString("\n\n# EXIT STATUS\n")
	for _, e := range exitMeanings {
		fmt.Fprintf(&b, "**%d**\n\t%s\n\n", e.code, escapeMarkdown(e.meaning))
	}
	b.WriteString("# ENVIRONMENT\n**JMPI_…**\n\tThe value of a flag: JMPI_MAX_SWEEPS is that of --max-sweeps. " +
		"It must be the same on all ranks. A flag on the command line wins.\n\n" +
		"**JMPI_CACHE_DIR**\n\tThe folder of compiled GPU kernels; ~/.cache/jmpi by default.\n")
	return b.String()
}

// markdown makes Markdown of a help text: paragraphs, and lines that are indented, which stay as they are.
func markdown(text string) string {
	var b strings.Builder
	inside := false // an indented block
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch indented := strings.HasPrefix(line, "  "); {
		case indented != inside && line != "":
			b.WriteString("\n")
			inside = indented
			fallthrough
		default:
			if indented {
				line = "    " + strings.TrimPrefix(line, "  ")
			} else {
				line = escapeMarkdown(line)
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// escapeMarkdown marks the characters that Markdown would take for its own.
var escapeMarkdown = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[",
	"]", "\\]", "<", "\\<", ">", "\\>", "|", "\\|", "~", "\\~", "#", "\\#").Replace
