// Package problem reads what judges run against: a folder or an archive of tests, or a problem package in a format of
// ICPC, Kattis, Polygon, CMS, DMOJ or sinol-make.
//
// Archives and packages are not trusted: their content cannot choose where it is written, and their unpacked size is
// limited. Features of a package that judged does not support are findings.
package problem
