package kernels

// Preference is a row of a table of widths, measured on one card: from an order of the matrix on, up to the
// next row of the same type, block-columns of that type should have these widths.
type Preference struct {
	Type  Element
	Order int
	Width int // of the narrow block-columns
	Inner int // of the block-columns inside a pivot factor; 0: as few levels as possible
}

// Widths returns the preferred widths for a matrix of order n. They depend on the device and on n alone, so
// that the bits of a result do not depend on how the devices are split.
func (l Limits) Widths(n int, element Element) (width, inner int) {
	width = l.Width
	for _, p := range l.Table {
		if p.Type == element && p.Order <= n {
			width, inner = p.Width, p.Inner
		}
	}
	return width, inner
}
