// Package problem reads what judges run against: a folder or an archive of tests, or a problem package in a format of
// ICPC, Kattis, Polygon, CMS, DMOJ or sinol-make.
//
// Archives and packages come from people and are not trusted: nothing in one decides where on the disk it goes, and how
// much is unpacked is bounded. What a package uses and judged does not do is a finding.
package problem
