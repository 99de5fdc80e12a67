// Package limits tells what this process may still take: memory of the host, address space and
// threads. What sets the limits are the kernel, control groups of both versions, and the resource
// limits that a shell sets with ulimit.
//
// What cannot be found out is taken to set no limit. File systems are given by their root, which
// holds proc and sys.
package limits
