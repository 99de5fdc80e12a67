package cuda

import "jmpi/kernels"

// widths are the fastest widths of block-columns by card, as `jmpi bench tune` prints them. A card that is
// not here has one width for all orders.
var widths = map[string][]kernels.Preference{
	usualCard: {
		{Type: kernels.Float32, Order: 512, Width: 64},
		{Type: kernels.Float64, Order: 512, Width: 32},
		{Type: kernels.Float64, Order: 1536, Width: 64},
	},
}

// usualCard is the card whose widths are taken where there is none.
const usualCard = "NVIDIA H200"

// tableOf returns the widths of a card that takes factors up to this order.
func tableOf(card string, order int) (table []kernels.Preference) {
	for _, p := range widths[card] {
		if 2*p.Width <= order || p.Inner > 0 {
			table = append(table, p)
		}
	}
	return table
}
