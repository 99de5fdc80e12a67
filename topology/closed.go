package topology

// Crossings returns about how many exchanges of a sweep leave a group, where a cyclic strategy runs on equal
// groups of devices, in closed form: for as many devices as the search of New takes too long for.
//
// The block-columns of a group, two on each device, are two blocks. A sweep over blocks has 2·groups − 1
// steps, in each of which all pairs of the two blocks of a group meet without leaving it. Between two of
// these steps, and before the next sweep, each device sends a block-column to another group. The best plans
// need one or two exchanges more from one sweep to the next: 9.8 on 4 groups of 8 devices, 17.8 on 8 and 33.8
// on 16.
func Crossings(groups, phases int) int {
	switch {
	case groups <= 1:
		return 0
	case groups == 2:
		return min(4, phases)
	}
	return min(2*groups+2, phases)
}
