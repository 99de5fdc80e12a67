package kernels

import "errors"

// Errors of a Backend, always wrapped; test for them with errors.Is.
var (
	// ErrMemory: the device has not got the memory that was asked for.
	ErrMemory = errors.New("not enough device memory")
	// ErrShape: panels, factors, tallies or a schedule do not fit together.
	ErrShape = errors.New("shapes do not fit")
	// ErrType: elements of a type that this device does not take there.
	ErrType = errors.New("element type not supported")
	// ErrAddress: an address that this back end has not handed out, or has taken back.
	ErrAddress = errors.New("address not allocated on this device")
)
