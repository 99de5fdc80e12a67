package main

import (
	"os"
	"regexp"
	"testing"
	"time"
)

// Version and released are in version.go; the other files that have them say the same. The Python package
// reads version.go.
func TestVersionsAgree(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, released); err != nil {
		t.Error(err)
	}
	setup, err := os.ReadFile("../../python/setup.py")
	if err != nil {
		t.Fatal(err)
	}
	search := regexp.MustCompile(`"version.go"(?s:.*)re.search\(r'([^']+)'`).FindSubmatch(setup)
	if search == nil {
		t.Fatalf("python/setup.py does not look for the version in version.go:\n%s", setup)
	}
	for _, c := range []struct{ file, pattern, want string }{
		{"cmd/jmpi/version.go", string(search[1]), Version},
		{"CHANGELOG.md", `(?m)^## \[([0-9.]+)\] - .*$`, Version},
		{"CHANGELOG.md", `(?m)^## \[[0-9.]+\] - (.*)$`, released},
		{"CITATION.cff", `(?m)^version: (.*)$`, Version},
		{"CITATION.cff", `(?m)^date-released: (.*)$`, released},
		{"examples/jmpi.def", `(?m)^    org.opencontainers.image.version (.*)$`, Version},
	} {
		text, err := os.ReadFile("../../" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.pattern).FindStringSubmatch(string(text))
		if found == nil || found[1] != c.want {
			t.Errorf("%s: %q, want %s", c.file, found, c.want)
		}
	}
}

// What a reader of CITATION.cff needs is there, and the paper is the one of docs/REFERENCES.md.
func TestCitation(t *testing.T) {
	text, err := os.ReadFile("../../CITATION.cff")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"cff-version: 1.2.0", "message: ", "title: ", "type: software", "license: MIT",
		"authors:\n  - name: \"The jmpi authors\"", "references:\n  - type: article"} {
		if !regexp.MustCompile("(?m)^" + regexp.QuoteMeta(key)).Match(text) {
			t.Errorf("there is no %q", key)
		}
	}
	sources, err := os.ReadFile("../../docs/REFERENCES.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{`doi: (10\.\S+)`, `value: "(arXiv:\S+)"`} {
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil || !regexp.MustCompile(regexp.QuoteMeta(string(found[1]))).Match(sources) {
			t.Errorf("%s: %q is not in docs/REFERENCES.md", pattern, found)
		}
	}
}
