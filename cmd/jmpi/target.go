package main

import (
	"fmt"
	"strconv"

	"jmpi/dist/comm"
	"jmpi/internal/matio"
	"jmpi/internal/results"
)

// target makes, on rank 0, the folder in which the results are written before they take DIR's place, with
// room for all of them. It is collective.
func (s *session) target(input string, p problem, f svdFlags) (*results.Folder, error) {
	read, _ := matio.SplitName(input)
	target := results.Target{Dir: f.output, Force: f.force, Reads: []string{read}}
	if _, err := strconv.ParseInt(f.signature, 10, 64); err != nil && f.signature != "" {
		read, _ = matio.SplitName(f.signature)
		target.Reads = append(target.Reads, read)
	}
	var err error
	if s.comm.Rank() == 0 {
		err = s.ready(target)
	}
	if err := s.agree(comm.BadInput, err); err != nil {
		return nil, err
	}
	tags, err := s.comm.Allgather([]byte(results.Tag()))
	if err != nil {
		return nil, s.failed(err)
	}
	folder, err := results.NewFolder(target, string(tags[0]))
	if err == nil && s.comm.Rank() == 0 {
		folder.Step = s.step
		_, err = process.make(func() (string, error) { return folder.Path(""), folder.Create() })
		if err == nil {
			err = s.reserve(folder, p.files(p.part.of(p.k())), f.format)
		}
	}
	// The others wait here until the folder is there.
	err = comm.Agree(s.comm, comm.BadInput, err)
	if err == nil {
		if s.comm.Rank() != 0 {
			_, err = process.make(func() (string, error) { return folder.Path(""), folder.Visible() })
		}
		if err != nil {
			err = fmt.Errorf("the folder for the results, made by rank 0, is not there: %w; "+
				"it must be on a file system that all nodes share", err)
		}
		err = comm.Agree(s.comm, comm.BadInput, err)
	}
	if err == nil {
		err = s.tellPlaces()
	}
	if err != nil {
		if e := s.discard(folder); e != nil {
			s.log.Warn().Err(e).Msg("a hidden folder is left")
		}
	}
	return folder, s.failed(err)
}

// discard deletes, on rank 0, the folder of results that are not published or kept.
func (s *session) discard(folder *results.Folder) error {
	if s.comm.Rank() != 0 {
		return process.discard(folder.Path(""), nothing)
	}
	return process.discard(folder.Path(""), folder.Discard)
}

// ready clears up after runs into the target that were killed, and tells whether results can be published
// there.
func (s *session) ready(target results.Target) error {
	found, err := target.Recover()
	if found.Restored {
		s.log.Warn().Str("results", target.Dir).
			Msg("a run was killed while it replaced these results; they are back")
	}
	for _, folder := range found.Left {
		s.log.Warn().Msg(folder)
	}
	if err != nil {
		return err
	}
	return target.Check()
}
