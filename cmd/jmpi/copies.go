package main

import (
	"fmt"
	"slices"
	"strings"

	"jmpi/dist/comm"
	"jmpi/internal/matio"
)

// fileCopy is what a rank tells of a file that all ranks read. Hosts may have copies of it.
type fileCopy struct {
	Place  filePlace
	Header string    // shape and type
	Sum    matio.Sum // of the copy, or of this rank's share of it
}

// filePlace tells whether two ranks read one file: then it is the same for both.
type filePlace struct {
	Host  string
	Stamp matio.Stamp
}

// sameFile makes sure that all ranks read one file or copies of it. It compares samples, or all bytes.
func (s *session) sameFile(file *matio.File, path string, all bool) error {
	copies, err := inspect(s.comm, file, all)
	if err != nil {
		return s.failed(err)
	}
	if err := compareCopies(path, copies); err != nil {
		return s.verdict(exitInput, err)
	}
	return nil
}

// inspect returns what every rank has. If there are several files that look alike, it takes their Sums. The
// ranks that share a file share the work. It is collective.
func inspect(world comm.Comm, file *matio.File, all bool) ([]fileCopy, error) {
	mine := fileCopy{Place: filePlace{world.Node(), file.Stamp()}}
	mine.Header = fmt.Sprintf("%d×%d %s", file.Rows, file.Cols, file.Dtype)
	copies, err := comm.AllOf(world, mine)
	if err != nil {
		return nil, err
	}
	unlike := slices.ContainsFunc(copies, func(c fileCopy) bool { return c.difference(mine) != "" })
	if unlike || len(places(copies)) == 1 {
		return copies, nil
	}
	share, shares := 0, 0
	for rank, c := range copies {
		if c.Place == mine.Place {
			if rank < world.Rank() {
				share++
			}
			shares++
		}
	}
	mine.Sum, err = file.Checksum(all, share, shares)
	if err := comm.Agree(world, comm.BadInput, err); err != nil {
		return nil, err
	}
	if copies, err = comm.AllOf(world, mine); err != nil {
		return nil, err
	}
	sums := map[filePlace]matio.Sum{}
	for _, c := range copies {
		sums[c.Place] = sums[c.Place].Plus(c.Sum)
	}
	for rank := range copies {
		copies[rank].Sum = sums[copies[rank].Place]
	}
	return copies, nil
}

// places returns the lowest rank that reads each file.
func places(copies []fileCopy) map[filePlace]int {
	lowest := map[filePlace]int{}
	for rank := len(copies) - 1; rank >= 0; rank-- {
		lowest[copies[rank].Place] = rank
	}
	return lowest
}

// compareCopies returns an error that names the ranks with another file than most. The right one is what more
// than half of the files are like, or else that of rank 0.
func compareCopies(path string, copies []fileCopy) error {
	files := places(copies)
	right := slices.IndexFunc(copies, func(c fileCopy) bool {
		votes := 0
		for _, rank := range files {
			if copies[rank].difference(c) == "" {
				votes++
			}
		}
		return 2*votes > len(files)
	})
	right = max(right, 0)
	var differences []string
	ranks := map[string][]int{}
	for rank, c := range copies {
		if d := c.difference(copies[right]); d != "" {
			if ranks[d] == nil {
				differences = append(differences, d)
			}
			ranks[d] = append(ranks[d], rank)
		}
	}
	if differences == nil {
		return nil
	}
	var text strings.Builder
	for _, d := range differences {
		has := "have"
		if len(ranks[d]) == 1 {
			has = "has"
		}
		fmt.Fprintf(&text, "%s %s another %s than ", named(copies, ranks[d]...), has, path)
		fmt.Fprintf(&text, "%s: %s; ", named(copies, right), d)
	}
	return fmt.Errorf("%scopy the file to all hosts again", &text)
}

// difference says how a copy differs from another, "" if it does not.
func (c fileCopy) difference(from fileCopy) string {
	switch size, other := c.Place.Stamp.Size, from.Place.Stamp.Size; {
	case c.Header != from.Header:
		return fmt.Sprintf("the header says %s, not %s", c.Header, from.Header)
	case size != other:
		return fmt.Sprintf("the size is %d bytes, not %d", size, other)
	case c.Sum != from.Sum:
		return "the contents differ"
	}
	return ""
}

// named names ranks and their hosts, eight at most.
func named(copies []fileCopy, ranks ...int) string {
	const most = 8
	var names []string
	for _, rank := range ranks[:min(most, len(ranks))] {
		names = append(names, fmt.Sprintf("rank %d (%s)", rank, copies[rank].Place.Host))
	}
	if more := len(ranks) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
