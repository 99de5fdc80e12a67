package main

import (
	"fmt"
	"os"
	"strings"

	"jmpi/internal/nvidia"
)

// gpuText describes this process's GPUs and the links between them, or says why there are none.
func gpuText() string {
	seen, err := nvidia.Look()
	if err != nil {
		return fmt.Sprintf("none (%v)", err)
	}
	text := fmt.Sprint(len(seen.GPUs))
	if major, minor := seen.Version(); major > 0 {
		text += fmt.Sprintf(", the driver takes CUDA %d.%d", major, minor)
	}
	text += nvidia.Hidden(os.Getenv)
	for i, g := range seen.GPUs {
		text += fmt.Sprintf("\n%d: %s, %s, %.1f GiB, compute capability %d.%d", i, g.Name, g.UUID,
			float64(g.Memory)/(1<<30), g.Major, g.Minor)
	}
	return text + linkText(len(seen.GPUs), seen.Link)
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
