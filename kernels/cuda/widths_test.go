package cuda

import (
	"slices"
	"testing"

	"jmpi/kernels"
)

// Tables rise by order, and have widths that the kernels take on the card.
func TestTables(t *testing.T) {
	for card, table := range widths {
		for _, element := range []kernels.Element{kernels.Float32, kernels.Float64} {
			var orders []int
			for _, p := range table {
				if p.Type == element {
					orders = append(orders, p.Order)
				}
				if p.Width < 1 || p.Inner == 0 && 2*p.Width > pointwiseOrder {
					t.Errorf("%s: %+v", card, p)
				}
			}
			if !slices.IsSorted(orders) || len(slices.Compact(orders)) == 0 {
				t.Errorf("%s, %v: orders %v", card, element, orders)
			}
		}
	}
	if len(tableOf(usualCard, pointwiseOrder)) == 0 || tableOf("none", pointwiseOrder) != nil {
		t.Error("the tables are not found by card")
	}
	for _, p := range tableOf(usualCard, smallOrder) {
		if 2*p.Width > smallOrder {
			t.Errorf("%+v on a card that takes factors of order %d", p, smallOrder)
		}
	}
	if Limits().Table == nil {
		t.Error("without a card there are no widths")
	}
}
