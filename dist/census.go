package dist

import (
	"encoding/json"
	"fmt"
	"os"

	"jmpi/kernels"
)

// DeviceInfo places one device.
type DeviceInfo struct {
	Rank int    `json:"rank"`
	Host string `json:"host"`
	kernels.Description
}

// Census tells every rank of all devices, in the order of the ranks. It is collective.
func Census(comm Comm, devices []kernels.Backend) ([]DeviceInfo, error) {
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
		return nil, fmt.Errorf("dist: census: %w", err)
	}
	parts, err := comm.Allgather(b)
	if err != nil {
		return nil, fmt.Errorf("dist: census: %w", err)
	}
	var all []DeviceInfo
	for _, b := range parts {
		var theirs []DeviceInfo
		if err := json.Unmarshal(b, &theirs); err != nil {
			return nil, fmt.Errorf("dist: census: %w", err)
		}
		all = append(all, theirs...)
	}
	return all, nil
}
