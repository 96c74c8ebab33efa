// Package bench runs one program again and again under different placements
// and says how much its time varies in each: free as a shell would start it,
// pinned, in a slot, in a slot next to a loaded machine.
//
// A Site is an engine with these placements made ready, and with the load for its
// neighbours. Every run is a judged one, in the same sandbox and with the same
// clock, so that the figures compare; only the CPUs, the memory and the
// neighbours differ. The placements take turns, round by round, in an order
// that chance decides: a machine that gets warmer or busier while it is
// measured does the same to all of them.
//
// What the published experiments ran, and what they found, is package
// experiment's.
package bench
