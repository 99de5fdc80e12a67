package cuda

import "jmpi/kernels"

const (
	meetingBytes = 16   // Letter of grid.cuh
	mostMeetings = 1024 // of a launch
)

// meetings counts those of all launches of kernels whose blocks meet. So letters of earlier launches are told
// from those of the next one.
type meetings struct{ held uint32 }

// letters returns how many letters Grid of grid.cuh has.
func letters(quantities, singles, blocks int) int { return 2 * (quantities*blocks + singles) }

// meeting returns where so many letters of a launch are to be, and the number of its first meeting. The
// caller launches the kernel before anything else that meets.
func (d *device) meeting(letters int) (box kernels.Address, first int64, err error) {
	bytes := int64(letters) * meetingBytes
	if box, err = d.need("letters of meetings", bytes); err != nil {
		return 0, 0, err
	}
	if d.meetings.held == 0 || d.meetings.held > 1<<32-1-2*mostMeetings { // numbers begin again
		all := int(d.scratch.buffers["letters of meetings"].bytes / kernels.WordBytes)
		if err := d.zero(kernels.Panel{M: all, N: 1, Ld: all, Data: box}); err != nil {
			return 0, 0, err
		}
		d.meetings.held = mostMeetings
	}
	first = int64(d.meetings.held)
	d.meetings.held += mostMeetings
	return box, first, nil
}
