package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"jmpi/internal/nvidia"

	"golang.org/x/sys/unix"
)

// gpu is what the driver says of a GPU; no context is made on it.
type gpu struct {
	name         string
	uuid         string // "GPU-…"
	memory       int64  // bytes
	major, minor int32  // compute capability
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
	library, err := nvidia.Driver()
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

// list returns the GPUs that the driver shows to this process, in its order. There is at least one,
// or an error.
func (d *driver) list() ([]gpu, error) {
	var n int32
	if err := d.check("cuDeviceGetCount", d.count(&n)); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("the driver shows no GPU%s", hidden(os.Getenv))
	}
	list := make([]gpu, n)
	for i := range list {
		if err := d.describe(int32(i), &list[i]); err != nil {
			return nil, fmt.Errorf("GPU %d: %w", i, err)
		}
	}
	return list, nil
}

func (d *driver) describe(ordinal int32, g *gpu) error {
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
		{"cuDeviceGetAttribute", d.attribute(&g.major, attributeMajor, device)},
		{"cuDeviceGetAttribute", d.attribute(&g.minor, attributeMinor, device)},
	} {
		if err := d.check(c.call, c.code); err != nil {
			return err
		}
	}
	g.name, _, _ = strings.Cut(string(name[:]), "\x00")
	g.uuid = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", uuid[:4], uuid[4:6], uuid[6:8], uuid[8:10], uuid[10:])
	g.memory = int64(memory)
	return nil
}

// link says how one GPU reaches the memory of another: "nvlink" (peer access with atomic operations,
// which PCI Express does not have), "pcie" (peer access without them), "host" (no peer access: copies go
// through the host) or "?".
func (d *driver) link(from, to int32) string {
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

// visibleGPUs returns the UUIDs of the GPUs that the driver shows; the error says why there are none.
func visibleGPUs() ([]string, error) {
	d, err := openDriver()
	if err != nil {
		return nil, err
	}
	list, err := d.list()
	var uuids []string
	for _, g := range list {
		uuids = append(uuids, g.uuid)
	}
	return uuids, err
}

// hidden says which variable may hide GPUs, "" if none is set.
func hidden(getenv func(string) string) string {
	for _, name := range []string{"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"} {
		if value := getenv(name); value != "" {
			return fmt.Sprintf(" (%s=%s)", name, value)
		}
	}
	return ""
}

// gpuText describes this process's GPUs and the links between them, or says why there are none.
func gpuText() string {
	d, err := openDriver()
	if err != nil {
		return fmt.Sprintf("none (%v)", err)
	}
	list, err := d.list()
	if err != nil {
		return fmt.Sprintf("none (%v)", err)
	}
	var version int32
	text := fmt.Sprint(len(list))
	if d.version(&version) == 0 {
		text += fmt.Sprintf(", the driver takes CUDA %d.%d", version/1000, version%1000/10)
	}
	text += hidden(os.Getenv)
	for i, g := range list {
		text += fmt.Sprintf("\n%d: %s, %s, %.1f GiB, compute capability %d.%d", i, g.name, g.uuid,
			float64(g.memory)/(1<<30), g.major, g.minor)
	}
	return text + linkText(len(list), d.link)
}

// linkText is the table of links, a row for each GPU.
func linkText(gpus int, link func(from, to int32) string) string {
	if gpus < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nto     ")
	for to := range gpus {
		fmt.Fprintf(&b, " %-6d", to)
	}
	for from := range gpus {
		fmt.Fprintf(&b, "\nfrom %-2d", from)
		for to := range gpus {
			way := "-"
			if from != to {
				way = link(int32(from), int32(to))
			}
			fmt.Fprintf(&b, " %-6s", way)
		}
	}
	return b.String()
}
