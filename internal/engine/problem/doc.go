// Package problem reads what judges run against: a folder or a ZIP archive of
// tests.
//
// Archives come from people and are not trusted: nothing in one decides where
// on the disk it goes, and how much is unpacked is bounded.
package problem
