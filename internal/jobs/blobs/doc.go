// Package blobs stores files in a folder under the SHA-256 of their content: a file that jobs need is uploaded once and
// found under the same name. A file is either complete and on disk, or absent. Its modification time is the time of its
// last use, and Sweep deletes files that have been unused for long.
//
// Several fronts share a folder, or a Bucket with copies in folders. A Cache holds copies of the files that it fetches,
// for a front or a judge node.
//
// Not here: who may upload, and what a file is for.
package blobs
