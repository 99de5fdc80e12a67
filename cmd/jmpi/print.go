package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// complain prints the line on stderr that says why this process ends.
func complain(who string, err error) {
	shownBar.show(nil)
	fmt.Fprintf(os.Stderr, "jmpi: %s\n", printable(who+byVariable(oneLine(err))))
}

// variables has the environment variables by which flags were set, by the names of the flags.
var variables atomic.Pointer[map[string]string]

// byVariable names the environment variable where a text begins with a flag that was set by it.
func byVariable(text string) string {
	set := variables.Load()
	if set == nil || !strings.HasPrefix(text, "--") {
		return text
	}
	end := strings.IndexAny(text, " :")
	if end < 0 {
		return text
	}
	name, rest := (*set)[text[2:end]], text[end:]
	if name == "" {
		return text
	}
	value := os.Getenv(name)
	if after, ok := strings.CutPrefix(rest, " "+value+":"); ok && value != "" {
		rest = "=" + value + ":" + after
	}
	return name + rest
}

// oneLine returns the text of an error; joined ones are separated by semicolons instead of ends of lines.
func oneLine(err error) string {
	var marked *exitError
	if errors.As(err, &marked) {
		err = marked.err
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err.Error()
	}
	var texts []string
	for _, e := range joined.Unwrap() {
		texts = append(texts, e.Error())
	}
	if strings.Join(texts, "\n") != err.Error() { // an error of fmt.Errorf
		return err.Error()
	}
	return strings.Join(texts, "; ")
}

// printable returns text as one line that does nothing to a terminal: what cannot be printed, in the name of
// a file say, is written as Go writes it in strings, as \n or \x1b.
func printable(text string) string {
	var b strings.Builder
	for k := 0; k < len(text); {
		r, size := utf8.DecodeRuneInString(text[k:])
		if part := text[k : k+size]; strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(part)
		} else {
			quoted := strconv.Quote(part)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		k += size
	}
	return b.String()
}
