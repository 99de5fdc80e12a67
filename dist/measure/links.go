package measure

import (
	"jmpi/dist/comm"
	"jmpi/dist/exchange"
	"jmpi/internal/rates"
	"jmpi/kernels"
)

// sizes of the messages that are timed: the first tells the latency, the last the bandwidth.
var sizes = []int64{64 << 10, 64 << 20}

// Links measures the paths between devices, where there are several, each device sending and receiving at the
// same time. It is collective.
func Links(world comm.Comm, devices []kernels.Backend, t exchange.Transport) (map[string]rates.Link, error) {
	if world.Size() == 1 && len(devices) == 1 {
		return nil, nil
	}
	rows, err := exchange.Bench(world, devices, t, sizes)
	if err != nil {
		return nil, err
	}
	links, short := map[string]rates.Link{}, map[string]float64{}
	for _, r := range rows {
		switch {
		case !r.BothWays:
		case r.Bytes == sizes[0]:
			short[r.Path] = r.Seconds
		default:
			rate := float64(r.Bytes) / r.Seconds
			links[r.Path] = rates.Link{Latency: max(0, short[r.Path]-float64(sizes[0])/rate), BytesPerSecond: rate,
				Source: "measured"}
		}
	}
	return links, nil
}
