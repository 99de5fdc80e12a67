// Package exchange carries block-columns between devices, of one rank or of several.
//
// # Messages
//
// A macro block-column travels in at most four pieces (Pieces) of narrow block-columns. A piece is a message
// of G, one of V where it is carried, and where G is float32 one of the norms of its columns and one of Gram
// matrices, where they are kept (Label). It lands in a slot whose receives are posted before the macro step.
// So a device waits for nothing but the pieces that it works on next. Between the devices of a rank pieces
// are copied beside what is queued, in the order of marks (kernels.Memory, Bring): no host waits for a
// device. Between ranks they are messages of package comm, before which the host waits for the piece:
//
//	host      the devices' memory is host memory: the library reads and writes it
//	direct    the library reads and writes device memory. A test at the start has proved that it can
//	staged    in chunks through a few pinned buffers of each device and direction (lane)
//
// On a lane outward, chunk i+1 is fetched from the device while chunk i travels. On a lane inward, chunk i is
// stored to the device while chunk i+1 arrives.
//
// A device sends only when its messages of the exchange before are through, and is never more than one
// exchange ahead of the device that it sends to. So the tag of a message needs no more than the two devices,
// the piece, the kind, and the parity of the exchange (Exchange.tag).
//
// # Which transport
//
// Census tells every rank of all devices. ChooseTransport decides how messages travel, for all ranks alike. A
// library that cannot follow an address of device memory dies of a segmentation fault, and some that cannot
// say that they can. So the test (prove) runs between ranks, in short and in long messages, with the signals
// of its thread caught (comm.DeviceMemory, Probe). One failure makes all ranks stage.
//
// # Measurement
//
// Bench times messages along every path that there is. It compares what arrives with a known pattern.
//
// # Symbols
//
//	2g           New's rank, of g devices    macro block-columns, two on a device: Label.Column
//	G, V, D, H   Label.Kind 0, 1, 2, 3       what a message carries; D are the norms, H the Gram matrices
package exchange
