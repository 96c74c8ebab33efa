// Package bench runs one program repeatedly under different placements and reports how much its time varies in each:
// unpinned as a shell would start it, pinned, in a slot, and in a slot next to a loaded machine.
//
// A Site is an engine with these placements, and with the load for its neighbours. Every run is judged in the same
// sandbox and with the same clock, so that the figures are comparable; only the CPUs, the memory and the neighbours
// differ. The placements take turns, round by round, in random order: a machine that gets warmer or busier during the
// measurement affects all of them equally.
//
// A Chart draws the runs as SVG: one lane for each placement, one dot for each run, a tick at the median. It is a
// self-contained file for people, identical byte for byte for the same numbers. Charts of nodes and of submissions use
// it, too. A plotting library (gonum/plot) brings fonts, PDF and image codecs along, and a page of formats is enough.
//
// An experiment repeats a published one about running time on this host, with its own programs, and shows the published
// figures next to the measured ones. Flips measures the purpose of judged: how often a time verdict near the limit is
// wrong, with judged and without.
package bench
