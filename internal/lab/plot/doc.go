// Package plot draws measurements as SVG: one lane for each placement, one dot
// for each run, a tick at the median. The pictures are for people, stand alone
// as files, and come out byte for byte the same for the same numbers.
//
// It knows numbers and labels only. A plotting library (gonum/plot) brings fonts,
// PDF and image codecs along, and a page of formats is enough.
package plot
