// Package bench runs one program repeatedly under different placements and reports how much its time varies in each:
// unpinned as a shell would start it, pinned, in a slot, and in a slot next to a loaded machine.
//
// A Site is an engine with these placements, and with the load for its neighbours. Every run is judged in the same
// sandbox and with the same clock, so that the figures are comparable; only the CPUs, the memory and the neighbours
// differ. The placements take turns, round by round, in random order: a machine that gets warmer or busier during the
// measurement affects all of them equally.
//
// Not here: what the published experiments ran and found (package experiment).
package bench
