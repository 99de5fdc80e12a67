package nvidia

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// GPU is what the driver says of a GPU; no context is made on it.
type GPU struct {
	Name         string
	UUID         string // "GPU-…"
	Memory       int64  // bytes
	Major, Minor int32  // compute capability
}

// Seen are the GPUs that the driver shows to this process, in its order. There is at least one.
type Seen struct {
	GPUs   []GPU
	driver *driver
}

// Look returns what the driver shows. The error says why there is nothing.
func Look() (*Seen, error) {
	d, err := openDriver()
	if err != nil {
		return nil, err
	}
	list, err := d.list()
	if err != nil {
		return nil, err
	}
	return &Seen{list, d}, nil
}

// Version returns the version of CUDA that the driver takes, 0.0 where it does not tell.
func (s *Seen) Version() (major, minor int32) {
	var version int32
	if s.driver.version(&version) != 0 {
		return 0, 0
	}
	return version / 1000, version % 1000 / 10
}

// driver is the opened library of the NVIDIA driver.
type driver struct {
	initialize func(flags uint32) int32
	version    func(v *int32) int32
	count      func(n *int32) int32
	device     func(device *int32, ordinal int32) int32
	name       func(text *byte, size, device int32) int32
	uuid       func(bytes *[16]byte, device int32) int32
	memory     func(bytes *uint64, device int32) int32
	attribute  func(value *int32, attribute, device int32) int32
	peer       func(value *int32, attribute, from, to int32) int32
	message    func(code int32, text **byte) int32
}

// The attributes of cuda.h that are asked for.
const (
	attributeMajor, attributeMinor = 75, 76
	peerAccess, peerAtomics        = 2, 3
)

// openDriver opens the driver. The error says why there is none.
func openDriver() (*driver, error) {
	library, err := Driver()
	if err != nil {
		return nil, errors.New("the NVIDIA driver's libcuda.so.1 was not found")
	}
	d := &driver{}
	err = library.Register(map[string]any{
		"cuInit": &d.initialize, "cuDriverGetVersion": &d.version, "cuDeviceGetCount": &d.count,
		"cuDeviceGet": &d.device, "cuDeviceGetName": &d.name, "cuDeviceGetUuid": &d.uuid,
		"cuDeviceTotalMem_v2": &d.memory, "cuDeviceGetAttribute": &d.attribute,
		"cuDeviceGetP2PAttribute": &d.peer, "cuGetErrorString": &d.message,
	})
	if err != nil {
		return nil, errors.New("libcuda.so.1 lacks routines of the driver interface; update the NVIDIA driver")
	}
	return d, d.check("cuInit", d.initialize(0))
}

// check turns a result code into an error.
func (d *driver) check(call string, code int32) error {
	if code == 0 {
		return nil
	}
	var text *byte
	if d.message(code, &text) != 0 || text == nil {
		return fmt.Errorf("%s: error %d", call, code)
	}
	return fmt.Errorf("%s: %s (error %d)", call, unix.BytePtrToString(text), code)
}

// list returns the GPUs that the driver shows. There is at least one, or an error.
func (d *driver) list() ([]GPU, error) {
	var n int32
	if err := d.check("cuDeviceGetCount", d.count(&n)); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("the driver shows no GPU%s", Hidden(os.Getenv))
	}
	list := make([]GPU, n)
	for i := range list {
		if err := d.describe(int32(i), &list[i]); err != nil {
			return nil, fmt.Errorf("GPU %d: %w", i, err)
		}
	}
	return list, nil
}

func (d *driver) describe(ordinal int32, g *GPU) error {
	var device int32
	if err := d.check("cuDeviceGet", d.device(&device, ordinal)); err != nil {
		return err
	}
	var name [256]byte
	var uuid [16]byte
	var memory uint64
	for _, c := range []struct {
		call string
		code int32
	}{
		{"cuDeviceGetName", d.name(&name[0], int32(len(name)), device)},
		{"cuDeviceGetUuid", d.uuid(&uuid, device)},
		{"cuDeviceTotalMem", d.memory(&memory, device)},
		{"cuDeviceGetAttribute", d.attribute(&g.Major, attributeMajor, device)},
		{"cuDeviceGetAttribute", d.attribute(&g.Minor, attributeMinor, device)},
	} {
		if err := d.check(c.call, c.code); err != nil {
			return err
		}
	}
	g.Name, _, _ = strings.Cut(string(name[:]), "\x00")
	g.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", uuid[:4], uuid[4:6], uuid[6:8], uuid[8:10], uuid[10:])
	g.Memory = int64(memory)
	return nil
}

// Link says how one GPU reaches the memory of another: "nvlink" (peer access with atomic operations,
// which PCI Express does not have), "pcie" (peer access without them), "host" (no peer access: copies go
// through the host) or "?".
func (s *Seen) Link(from, to int32) string {
	d := s.driver
	var a, b, access, atomics int32
	if d.device(&a, from) != 0 || d.device(&b, to) != 0 || d.peer(&access, peerAccess, a, b) != 0 ||
		d.peer(&atomics, peerAtomics, a, b) != 0 {
		return "?"
	}
	switch {
	case access == 0:
		return "host"
	case atomics == 0:
		return "pcie"
	}
	return "nvlink"
}

// Hidden says which variable may hide GPUs, "" if none is set.
func Hidden(getenv func(string) string) string {
	for _, name := range []string{"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"} {
		if value := getenv(name); value != "" {
			return fmt.Sprintf(" (%s=%s)", name, value)
		}
	}
	return ""
}
