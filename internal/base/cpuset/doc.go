// Package cpuset holds sets of logical CPUs and reads and writes the kernel's two formats, lists ("0-3,7") and hex masks
// ("ff,00000000"). Which CPUs share cores, caches and nodes is in package host/machine.
package cpuset
