// Package plot draws measurements as SVG: one lane for each placement, one dot for each run, a tick at the median. The
// charts are for people, are self-contained files, and are identical byte for byte for the same numbers.
//
// It handles numbers and labels only. A plotting library (gonum/plot) brings fonts, PDF and image codecs along, and a
// page of formats is enough.
package plot
