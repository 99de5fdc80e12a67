package comm

import (
	"regexp"
	"strings"
)

// builtWith begins the lines in which MPICH and its relatives tell how they were built, in thousands of
// characters.
var builtWith = regexp.MustCompile(`^\w+ (Release date|configure|CC|CXX|F77|FC|Custom Information) ?:`)

// LibraryName is an MPI library's text about itself in one line, without how it was built.
func LibraryName(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !builtWith.MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, ", ")
}
