package strategy

import (
	"slices"
	"strings"
)

// quickOrder is the largest order whose closest strategy Quick takes where it must be searched for. Up to it
// the search for ℛ looks at 5·10⁹ edges at most, in 5 s, but for slowOrders. Beyond it the effort rises, to
// searchEffort at 354.
const quickOrder = 320

// slowOrders are those up to quickOrder whose search for ℛ takes 10 s, or ends with ErrSearch. That for 𝒞
// takes 4 s at most.
var slowOrders = []int{138, 194, 242, 254}

// Quick returns the strategy of even order n that takes the place of rowcyc or rev-rowcyc. It is found within
// seconds, and depends on the order alone. Where the search for that name is long, it is the closest one
// for 𝒞, or an expanded one. Where these are as long, it is mmstep: of those that exist for every order it
// takes the fewest sweeps.
func Quick(name string, n int) string {
	if n&(n-1) == 0 {
		return name
	}
	searched, suffix := n, "" // the order of the closest strategy
	if n > quickOrder {
		for searched%4 == 0 {
			searched, suffix = searched/2, "-expanded"
		}
	}
	switch {
	case searched > quickOrder:
		return "mmstep"
	case slices.Contains(slowOrders, searched):
		name = strings.Replace(name, "row", "col", 1)
	}
	return name + suffix
}
