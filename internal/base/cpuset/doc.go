// Package cpuset holds sets of logical CPUs and their two texts, the kernel's
// list ("0-3,7") and its hex mask ("ff,00000000"). What the CPUs of a set have
// to do with each other — cores, caches, nodes — is package topology's.
package cpuset
