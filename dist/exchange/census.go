package exchange

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"jmpi/dist/comm"
	"jmpi/kernels"
)

// DeviceInfo says what one device is, and where.
type DeviceInfo struct {
	Rank int    `json:"rank"`
	Host string `json:"host"`
	kernels.Description
}

// Census tells every rank of all devices, in the order of the ranks. It is collective.
func Census(comm comm.Comm, devices []kernels.Backend) ([]DeviceInfo, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var mine []DeviceInfo
	for _, be := range devices {
		mine = append(mine, DeviceInfo{Rank: comm.Rank(), Host: host, Description: be.Describe()})
	}
	b, err := json.Marshal(mine)
	if err != nil {
		return nil, fmt.Errorf("exchange: census: %w", err)
	}
	parts, err := comm.Allgather(b)
	if err != nil {
		return nil, fmt.Errorf("exchange: census: %w", err)
	}
	var all []DeviceInfo
	for _, b := range parts {
		var theirs []DeviceInfo
		if err := json.Unmarshal(b, &theirs); err != nil {
			return nil, fmt.Errorf("exchange: census: %w", err)
		}
		all = append(all, theirs...)
	}
	return all, nil
}

// Host is the host of a rank: the ranks and the devices on it, the number of the rank's first device among
// all devices, and how many devices there are on all hosts.
type Host struct{ Ranks, OnHost, First, Devices int }

// HostOf finds it in the census of all devices; every rank has some.
func HostOf(rank int, all []DeviceInfo) Host {
	h := Host{Devices: len(all), First: slices.IndexFunc(all, func(d DeviceInfo) bool { return d.Rank == rank })}
	last := -1
	for _, d := range all {
		if d.Host != all[h.First].Host {
			continue
		}
		h.OnHost++
		if d.Rank != last {
			h.Ranks++
		}
		last = d.Rank
	}
	return h
}
