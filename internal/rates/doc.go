// Package rates has a model of the time that a decomposition takes on devices whose rates were measured
// (docs/decisions/040-model-of-time.md): operations over rates, launches, and bytes over bandwidths, times
// the sweeps that matrices of this kind were seen to need. `jmpi bench --rates` measures, `jmpi plan`
// computes.
package rates
