// Package measure measures what package rates keeps: how long the parts of a decomposition take on a device,
// and messages between devices, on random matrices.
package measure
