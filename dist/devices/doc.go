// Package devices gives every rank its devices: GPUs if every rank can have one, else CPU devices. It is the
// only package beside the command that knows the back ends.
//
// The ranks of a node share its GPUs (assign.go). All ranks come to the same choice, or to the same error.
package devices
